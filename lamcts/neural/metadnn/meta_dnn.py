"""The meta-DNN of AlphaX (thesis 3.2.3, 3.3.2)."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, Literal, Protocol, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional

from lamcts.errors import MissingExtra
from lamcts.types import Floats, Rows, array_of, whole_number

Network = Literal["mlp", "recurrent", "multistage"]
Routing = Literal["hard", "soft"]
KINDS: tuple[Network, ...] = get_args(Network)
LEAST = 2  # rows of a fit: one row determines no slope


class Predictor(Protocol):
    """The result of a fit."""

    def __call__(self, features: ArrayLike) -> Floats:
        """Return the predicted accuracy [m] of rows `features` [m, k], in the unit of the fitted accuracies."""


@dataclass(frozen=True)
class MetaDnnSettings:
    """Fields of `MetaDnn`, which documents them."""

    kind: Network = "mlp"
    hidden: tuple[int, ...] = (256, 256)
    steps: int = 7
    embedding: int = 100
    state: int = 100
    stages: int = 4
    cuts: tuple[float, ...] | None = None
    routing: Routing = "hard"
    epochs: int = 30
    batch: int = 256
    rate: float = 2e-3
    decay: float = 0.1
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, choices in (("kind", KINDS), ("routing", get_args(Routing))):
            if (got := getattr(self, name)) not in choices:
                near = get_close_matches(str(got), choices, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"MetaDnn: {name}: expected one of {', '.join(choices)}, got {got!r}{hint}")
        for name in ("steps", "embedding", "state", "stages", "epochs", "batch"):
            whole_number(getattr(self, name), f"MetaDnn: {name}")
        if not self.hidden:
            raise ValueError("MetaDnn: hidden: expected the widths of at least one layer, got none; pass (256,)")
        for width in self.hidden:
            whole_number(width, "MetaDnn: hidden")
        if self.cuts is not None and list(self.cuts) != sorted(set(self.cuts)):
            raise ValueError(f"MetaDnn: cuts: expected ascending accuracies, got {self.cuts}")


CHUNK = 8192  # rows of a prediction batch: 64 MB in the widest layer of the paper
Loss = Callable[[Tensor, Tensor], Tensor]


def fit(settings: MetaDnnSettings, x: Floats, y: Floats, seed: int, start: Predictor | None) -> Predictor:
    """Fit a predictor to rows `x` [n, k] and accuracies `y` [n], from the weights of `start` if given."""
    kind = _Staged if settings.kind == "multistage" else _Single
    if start is not None and not (isinstance(start, kind) and start.width == x.shape[1]):
        raise ValueError("fit: expected start to be a predictor of these settings and features; leave it out")
    generator = torch.Generator().manual_seed(seed)
    fit_kind: Any = _fit_staged if settings.kind == "multistage" else _fit_single
    predictor: Predictor = fit_kind(settings, x, y, generator, start)
    return predictor


@dataclass(frozen=True)
class _Single:
    """One network, and the mean and deviation of its targets."""

    net: nn.Module
    mean: float
    deviation: float
    width: int
    device: str

    def __call__(self, features: ArrayLike) -> Floats:
        return self.mean + self.deviation * _forward(self.net, features, self.width, self.device)[:, 0]


def _fit_single(
    settings: MetaDnnSettings, x: Floats, y: Floats, generator: torch.Generator, start: _Single | None
) -> _Single:
    mean, deviation = float(y.mean()), float(y.std()) or 1.0
    before = None if start is None else start.net
    net = _train(settings, x, (y - mean)[:, None] / deviation, 1, functional.mse_loss, generator, before)
    return _Single(net, mean, deviation, x.shape[1], settings.device)


@dataclass(frozen=True)
class _Staged:
    """A classifier over the ranges between `cuts`, and an expert for each range."""

    router: nn.Module
    experts: list[_Single]  # [s]
    cuts: Floats  # [s - 1]
    width: int
    device: str
    soft: bool

    def __call__(self, features: ArrayLike) -> Floats:
        score = _forward(self.router, features, self.width, self.device)  # [m, s]
        answers = np.column_stack([expert(features) for expert in self.experts])  # [m, s]
        if not self.soft:
            return np.asarray(answers[np.arange(len(answers)), score.argmax(1)])
        weight = np.exp(score - score.max(1, keepdims=True))
        return np.asarray((answers * weight).sum(1) / weight.sum(1))


def _fit_staged(
    settings: MetaDnnSettings, x: Floats, y: Floats, generator: torch.Generator, start: _Staged | None
) -> _Staged:
    """Fit an expert to the rows of each range, and the router to tell the ranges apart."""
    cuts = _cuts(settings, y) if start is None else start.cuts
    stage = np.searchsorted(cuts, y, side="right")  # [n]
    experts = []
    for i in range(len(cuts) + 1):
        rows, before = np.flatnonzero(stage == i), None if start is None else start.experts[i]
        own = rows if len(rows) >= LEAST else np.arange(len(y))  # later fits may leave a range empty
        experts.append(_fit_single(settings, x[own], y[own], generator, before))
    known = None if start is None else start.router
    router = _train(settings, x, stage, len(experts), functional.cross_entropy, generator, known)
    return _Staged(router, experts, cuts, x.shape[1], settings.device, settings.routing == "soft")


def _cuts(settings: MetaDnnSettings, y: Floats) -> Floats:
    """Return the bounds of ranges that have enough rows for an expert."""
    kept, begin, y = list[float](), 0, np.sort(y)
    even = np.linspace(y[0], y[-1], settings.stages + 1)[1:-1]
    wanted = even if settings.cuts is None else np.array(settings.cuts, np.float64)
    for cut in wanted:
        end = int(np.searchsorted(y, cut))
        if end - begin >= LEAST and len(y) - end >= LEAST:
            kept.append(float(cut))
            begin = end
    return np.array(kept)


def _train(
    settings: MetaDnnSettings,
    x: Floats,
    target: Floats | Rows,
    outputs: int,
    loss: Loss,
    generator: torch.Generator,
    start: nn.Module | None,
) -> nn.Module:
    """Train a network with `outputs` outputs on `x` [n, k] and `target` [n] or [n, 1]."""
    net = _network(settings, x.shape[1], outputs, generator)
    if start is not None:
        net.load_state_dict(start.state_dict())
    rows = torch.as_tensor(x, dtype=torch.float32, device=settings.device)
    goal = torch.as_tensor(target, device=settings.device)
    goal = goal.float() if goal.is_floating_point() else goal
    optimiser = torch.optim.AdamW(net.parameters(), lr=settings.rate, weight_decay=settings.decay)
    with torch.enable_grad():  # independent of the caller's mode
        for done, part in _batches(len(x), settings, generator):
            optimiser.param_groups[0]["lr"] = settings.rate * (1 + math.cos(math.pi * done)) / 2
            optimiser.zero_grad()
            loss(net(rows[part]), goal[part]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return net.requires_grad_(False)


def _batches(n: int, settings: MetaDnnSettings, generator: torch.Generator) -> Iterator[tuple[float, Tensor]]:
    """Yield the share of finished steps, and the rows of the next step; each epoch has a new order."""
    each = math.ceil(n / settings.batch)
    for epoch in range(settings.epochs):
        for i, part in enumerate(torch.randperm(n, generator=generator).to(settings.device).chunk(each)):
            yield (epoch + i / each) / settings.epochs, part


def _forward(net: nn.Module, features: ArrayLike, width: int, device: str) -> Floats:
    """Return the outputs for rows `features` [m, k], [m, o]."""
    x = torch.as_tensor(array_of(features), dtype=torch.float32, device=device)
    if x.ndim != 2 or x.shape[1] != width:
        raise ValueError(f"predictor: expected features [m, {width}], as in the fit, got {list(x.shape)}")
    with torch.no_grad():
        parts = [net(part) for part in torch.split(x, CHUNK)]
    return np.asarray(torch.cat(parts).cpu().numpy(), np.float64)


class _Recurrent(nn.Module):
    """An LSTM over the codes of an architecture's layers; its last state goes through one layer (thesis 3.3.2)."""

    def __init__(self, width: int, outputs: int, settings: MetaDnnSettings) -> None:
        super().__init__()
        self.steps = settings.steps
        self.embed = nn.Linear(width // settings.steps, settings.embedding)
        self.lstm = nn.LSTM(settings.embedding, settings.state, batch_first=True)
        self.head = nn.Linear(settings.state, outputs)

    def forward(self, x: Tensor) -> Tensor:  # [n, k] -> [n, o]
        codes = x.reshape(len(x), self.steps, x.shape[1] // self.steps)  # [n, t, k / t]
        _, (last, _) = self.lstm(self.embed(codes))
        out: Tensor = self.head(last[-1])
        return out


def _mlp(width: int, outputs: int, settings: MetaDnnSettings) -> nn.Module:
    """Return layers of ReLU units between the features and the outputs."""
    widths, layers = (width, *settings.hidden), list[nn.Module]()
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs))


def _network(settings: MetaDnnSettings, width: int, outputs: int, generator: torch.Generator) -> nn.Module:
    """Return a network on the settings' device, its weights drawn from `generator`, which is the CPU's."""
    make = _Recurrent if settings.kind == "recurrent" else _mlp
    with torch.device("meta"):  # with memory, layers would draw weights from the global generator
        net = make(width, outputs, settings)
    net.to_empty(device="cpu")
    with torch.no_grad():
        for weight in net.parameters():
            if weight.ndim < 2:
                weight.zero_()
            else:
                bound = (6 / weight.shape[1]) ** 0.5  # deviation sqrt(2 / inputs) (He 2015)
                weight.uniform_(-bound, bound, generator=generator)
    return net.to(settings.device)


@dataclass(frozen=True)
class MetaDnn(MetaDnnSettings):
    """Predict an architecture's accuracy from its encoding: the meta-DNN of AlphaX (thesis 3.2.3, 3.3.2).

    kind: "mlp" ("mlp"), the "recurrent" one, which reads one layer's code at a time, or "multistage": an expert for
        each range of accuracies, and a classifier that selects one; the simplest; paper: all three, AlphaX itself with
        the last.
    hidden: widths of the hidden layers ((256, 256); units), in all MLPs of a fit; untuned: 20,000 rows train in
        seconds; paper: (512, 2048, 2048, 512).
    steps: layers in the features, which the recurrent kind reads one by one (7; layers); the
        vertices of a NAS-Bench-101 cell; paper: the same.
    embedding: width of a layer's embedding in the recurrent kind (100; units); thesis 3.3.2.
    state: width of the LSTM's state (100; units); thesis 3.3.2.
    stages: ranges of accuracy, of equal width between the lowest and the highest, without `cuts` (4;
        ranges); thesis 3.3.2, whose example is 0 to 25 %.
    cuts: ascending bounds between the ranges (None: by `stages`; accuracies); measured, benchmarks/notes/nas.md:
        ranges of equal numbers of rows ranked worse, since the few failed networks form a cluster.
    routing: predict by the likeliest expert ("hard"), or by all, weighted by probability ("soft"); thesis 3.3.2.
    epochs: passes over the rows (30; epochs); untuned; paper: not stated.
    batch: rows of a gradient step (256; rows); untuned; paper: not stated.
    rate: initial learning rate of AdamW, which decays to 0 along a cosine (2e-3); untuned; paper: not stated.
    decay: its weight decay (0.1); untuned; paper: not stated.
    device: of torch ("cpu"); results for a seed are reproducible on the CPU only.
    """

    def fit(self, features: ArrayLike, accuracy: ArrayLike, seed: int = 0, start: Predictor | None = None) -> Predictor:
        """Fit the network to rows `features` [n, k] and their `accuracy` [n], at least two rows."""
        x, y = self._checked(features, accuracy)
        if find_spec("torch") is None:
            raise MissingExtra.of("torch", "torch")

        return fit(self, x, y, whole_number(seed, "fit: seed", least=0), start)

    def _checked(self, features: ArrayLike, accuracy: ArrayLike) -> tuple[Floats, Floats]:
        x, y = array_of(features).astype(np.float64), array_of(accuracy).astype(np.float64)
        if x.ndim != 2 or y.shape != x.shape[:1]:
            raise ValueError(f"fit: expected features [n, k] and accuracies [n], got {x.shape} and {y.shape}")
        if len(x) < LEAST or not x.shape[1]:
            raise ValueError(f"fit: expected at least {LEAST} rows of features, got {x.shape}; predict by a constant")
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise ValueError("fit: expected finite numbers, got some that are not; leave failed rows out")
        if self.kind == "recurrent" and x.shape[1] % self.steps:
            wrong = f"got {x.shape[1]}; set steps to the number of layers"
            raise ValueError(f"fit: expected features of {self.steps} layers of equal width, {wrong}")
        return x, y


def make(kind: str, **settings: Any) -> MetaDnn:
    """Return a `MetaDnn` of a kind, "mlp", "recurrent" or "multistage", with other settings as given."""
    return MetaDnn(kind=kind, **settings)  # type: ignore[arg-type]  # checked there
