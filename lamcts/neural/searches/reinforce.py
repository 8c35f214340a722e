"""REINFORCE (Williams 1992; Zoph and Le 2017): a policy over the parameters, learned by policy gradients. No model."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lamcts.samplers import Batch, LocalSampler, LocalSession, Progress, Proposal
from lamcts.spaces import Parameters
from lamcts.types import Floats, Note, Rows

if TYPE_CHECKING:
    from lamcts.outcomes.observations import Observations
    from lamcts.spaces.regions.region import Region

ENTROPY_WEIGHT = 0.01  # of the bonus that delays convergence (untuned)
RATE = 0.1  # step size of the logits (untuned)
BINS = 16  # equal intervals of a number with too many values to list: one is chosen, and a value inside (untuned)
DECAY = 0.9  # of the moving averages of losses (untuned)
TEMPERATURES = (1.0, 1.0, 2.0, 4.0, 8.0)  # of each round of draws, higher where all points are evaluated (untuned)
DRAWS_PER_POINT = 8  # draws of a round for each missing point (untuned)
FAILED_ADVANTAGE = -1.0  # advantage of a failed evaluation, in standard deviations (untuned)
MAX_ADVANTAGE = 3.0  # advantage of one result at most, in standard deviations (untuned)
MAX_LOSS = 1e100  # losses beyond it are equal, so that their squares are finite


@dataclass(frozen=True)
class Reinforce(LocalSampler):
    """REINFORCE with an independent categorical policy for each parameter.

    Each result moves the policy along the gradient of its log probability, in proportion to its advantage over a moving
    average of losses. Advantages are in moving standard deviations, so that the unit of the objective has no effect.

    Raises
    ------
    ValueError
        For tables of points (`Finite`) and permutations, whose columns are not independent.

    Notes
    -----
    Zoph and Le's policy is a recurrent network, trained on thousands of networks; this one has no dependence between
    parameters, which suits hundreds. Points are evaluated once: where the policy proposes evaluated points only, its
    temperature rises, and then points are uniform. Results that arrive late count as results of the current policy.

    References
    ----------
    Williams (1992), Machine Learning 8. Zoph and Le (2017), arXiv 1611.01578. Thesis, section 2.2.2.

    Examples
    --------
    >>> import lamcts
    >>> from lamcts.neural.searches.reinforce import Reinforce
    >>> space = lamcts.Space({"kind": lamcts.Choice(["a", "b", "c"]), "n": lamcts.Int(1, 9)})
    >>> len(lamcts.Optimizer(space, sampler=Reinforce(), seed=0).ask(4))
    4
    """

    def classes(self) -> tuple[type["_ReinforceSession"], type["ReinforceProgress"]]:
        return _ReinforceSession, ReinforceProgress


@dataclass
class PolicyProgress(Progress):
    """Moving mean and variance of the losses that a policy learns from."""

    mean: float = 0.0
    variance: float = 0.0
    results: int = 0  # finite losses so far


@dataclass
class ReinforceProgress(PolicyProgress):
    """The policy: logits of all options of all parameters in a row."""

    logits: Floats = field(default_factory=lambda: np.zeros(0))


Settings = TypeVar("Settings", bound=LocalSampler)
P = TypeVar("P", bound=PolicyProgress)


class PolicySession(LocalSession[Settings, P]):
    """Proposes draws of a policy, and learns from the advantage of each result over a moving average."""

    def draw(self, n: int, temperature: float) -> Floats:
        """Return `n` draws of the policy, whose logits are divided by the temperature, [n, d]."""
        raise NotImplementedError

    def learn(self, row: int) -> None:
        """Move the policy by the result of a row."""
        raise NotImplementedError

    def ask(self, n: int) -> Proposal:
        batch = Batch(self.region, self.seen, n)
        for temperature in TEMPERATURES:
            if not batch.open:
                break
            batch.take(self.draw(DRAWS_PER_POINT * batch.missing, temperature))
        batch.fill(self.progress.rng)
        return Proposal(batch.x, [None] * len(batch.x))

    def tell(self, notes: list[Note], rows: Rows) -> None:
        super().tell(notes, rows)
        for row in rows:
            self.learn(int(row))

    def advantage(self, loss: float) -> float:
        """Return how much better a loss is than the moving average, and move the average; 0 for the first loss."""
        progress = self.progress
        if not np.isfinite(loss):
            return FAILED_ADVANTAGE
        progress.results += 1
        share = max(1 - DECAY, 1 / progress.results)  # a plain mean at first
        gap = float(np.clip(loss, -MAX_LOSS, MAX_LOSS)) - progress.mean
        deviation = progress.variance**0.5 if progress.results > 1 else 0.0
        progress.mean += share * gap
        progress.variance = (1 - share) * (progress.variance + share * gap**2)
        return float(np.clip(-gap / deviation, -MAX_ADVANTAGE, MAX_ADVANTAGE)) if deviation > 0 else 0.0


class _ReinforceSession(PolicySession[Reinforce, ReinforceProgress]):
    def __init__(
        self, settings: Reinforce, region: "Region", seen: "Observations", progress: ReinforceProgress
    ) -> None:
        super().__init__(settings, region, seen, progress)
        self.policy = Policy(Parameters(region.space))
        if not len(progress.logits):
            progress.logits = np.zeros(self.policy.size)

    def draw(self, n: int, temperature: float) -> Floats:
        return self.policy.draw(n, self.progress.logits / temperature, self.progress.rng)

    def learn(self, row: int) -> None:
        progress = self.progress
        gradient = self.advantage(float(self.seen.y[row])) * self.policy.score(self.seen.x[row], progress.logits)
        gradient += ENTROPY_WEIGHT * self.policy.entropy_slope(progress.logits)
        progress.logits = progress.logits + RATE * gradient


class Policy:
    """Independent categorical distributions over the options of each parameter, or over intervals.

    Letters: n rows, d coordinates, p parameters. The logits of all options are one row; `edges` are their parts.
    """

    def __init__(self, parameters: Parameters) -> None:
        if parameters.joint:
            kind = type(parameters.joint[0].space).__name__
            raise ValueError(
                f"reinforce: expected independent parameters, got a {kind}; use sampler='mutate' or 'mixed_gp'"
            )
        self.parameters = parameters
        counts = [BINS if levels is None else len(levels) for levels in parameters.levels]
        self.edges = np.concatenate([[0], np.cumsum(counts)]).astype(int)
        self.size = int(self.edges[-1])

    def shares(self, logits: Floats) -> list[Floats]:
        """Return the probabilities of each parameter's options."""
        parts = [logits[a:b] - logits[a:b].max() for a, b in zip(self.edges, self.edges[1:], strict=False)]
        return [np.exp(part) / np.exp(part).sum() for part in parts]

    def draw(self, n: int, logits: Floats, rng: np.random.Generator) -> Floats:
        """Return `n` draws, [n, d]."""
        z = np.empty((n, self.parameters.count))
        for i, (shares, levels) in enumerate(zip(self.shares(logits), self.parameters.levels, strict=True)):
            options = rng.choice(len(shares), n, p=shares)
            if levels is None:
                z[:, i] = self.parameters.valid(i, (options + rng.random(n)) / len(shares))
            else:
                z[:, i] = levels[options]
        return self.parameters.rows(z)

    def score(self, x: Floats, logits: Floats) -> Floats:
        """Return the gradient of the log probability of a point [d]; inactive parameters have none."""
        z = self.parameters.codes(x[None])
        active, gradient = self.parameters.active(z)[0], np.zeros(self.size)
        for i, shares in enumerate(self.shares(logits)):
            if active[i]:
                part = gradient[self.edges[i] : self.edges[i + 1]]
                part -= shares
                part[self._option(i, z[0, i], len(shares))] += 1.0
        return gradient

    def entropy_slope(self, logits: Floats) -> Floats:
        """Return the gradient of the sum of entropies."""
        slopes = []
        for shares in self.shares(logits):
            logs = np.log(np.maximum(shares, np.finfo(float).tiny))
            slopes.append(-shares * (logs - shares @ logs))
        return np.concatenate(slopes)

    def _option(self, i: int, code: float, count: int) -> int:
        """Return the number of the option, or interval, of a code."""
        levels = self.parameters.levels[i]
        if levels is None:
            return min(int(code * count), count - 1)
        return int(np.abs(levels - code).argmin())
