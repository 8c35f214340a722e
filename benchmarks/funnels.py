"""The minimum of several random bowls: a function with several funnels, one of them the deepest.

    f(x) = min over j of depth_j + height_j |A_j (x - c_j)|^(2 p_j) + ripples about c_j

|.| is the root mean square in half ranges of the box. Letters: k funnels, n points, d coordinates; 0 is the deepest.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lamcts.objectives.base import checked_noise
from lamcts.objectives.protocol import digest
from lamcts.objectives.synthetic.placing import RIPPLES, turn
from lamcts.spaces.box import Box
from lamcts.types import Floats, Json, whole_number

EDGE = 5.0  # of the box, as in BBOB
HEIGHT = 100.0  # of a bowl at half the box's range from its centre, about; the depths are shares of it (untuned)
DEPTHS = 0.02, 0.2  # of all funnels but the deepest, above it, in HEIGHT (untuned)
STRETCH = 10.0  # of one axis of a bowl against another, at the most (untuned)
RIPPLE = 20.0  # the mean height of ripples, a period a unit of x: as high as Rastrigin's, in a bowl four times as steep
SAMPLES = 4000  # points by which the shares are set: 2.5 % of them are 100, so that fresh points agree to a tenth
ROUNDS = 300  # of setting the heights: enough for 2 to 20 funnels in 2 to 100 dimensions to a quarter of a per cent
TRIES = 20  # draws of all bowls until each has a valley of its own; from 20 dimensions on one was enough


@dataclass(frozen=True, eq=False)
class Funnels:
    """The least of k bowls.

    centres [k, d]; depths [k]: the values there; heights [k]: how steep; powers [k]: of the squared distance; shapes
    [k, d, d]: what offsets are multiplied by; ripples [k, d]: heights; shares [k]: of the volume, as measured.
    """

    space: Box
    centres: Floats
    depths: Floats
    heights: Floats
    powers: Floats
    shapes: Floats
    ripples: Floats
    shares: Floats
    noise: float = 0.0

    name = "funnels"
    maximize = False
    x0 = None
    optimum = 0.0

    @property
    def centre(self) -> Floats:
        """The minimum, [d]."""
        return np.asarray(self.centres[0])

    @property
    def noisy(self) -> bool:
        return self.noise > 0

    def fingerprint(self) -> Json:
        parts = (self.centres, self.depths, self.heights, self.powers, self.shapes, self.ripples)
        return {"function": self.name, "placed": digest(*parts), "noise": float(self.noise)}

    def many(self, points: ArrayLike) -> Floats:
        """Return the noise-free values of `points` [n, d] as [n]."""
        u = self._offsets(points)  # [k, n, d]
        waves = np.mean(self.ripples[:, None] * np.sin(np.pi * u) ** 2, axis=2)  # [k, n]
        return np.asarray((self._bowls(u) + RIPPLE * waves).min(0))

    def funnel(self, point: ArrayLike) -> int:
        """Return in which funnel a point lies: whose bowl, without ripples, is the lowest there; 0 is the deepest."""
        return int(self._bowls(self._offsets(np.asarray(point, float)[None]))[:, 0].argmin())

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> float:
        value = float(self.many(np.asarray(point, float)[None])[0])
        return value + self.noise * float(np.random.default_rng(seed).standard_normal()) if self.noise else value

    def _offsets(self, points: ArrayLike) -> Floats:
        x, dim = np.asarray(points, float), self.centres.shape[1]
        if x.ndim != 2 or x.shape[1] != dim:
            raise ValueError(f"expected points of shape [n, {dim}], got {list(x.shape)}")
        return _offsets(x, self.centres, self.shapes)

    def _bowls(self, u: Floats) -> Floats:
        grown = _grown(u, self.powers)
        return np.asarray(self.depths[:, None] + self.heights[:, None] * grown)


def funnels(
    dim: int = 20,
    funnels: int = 5,
    rippled: bool = False,
    share: float | None = None,
    shift: int = 0,
    rotate: int | None = None,
    noise: float = 0.0,
) -> Funnels:
    """Several funnels on [-5, 5]^dim, minimum 0 in the deepest; the others end 2 to 20 above it.

    dim: number of parameters (20).
    funnels: number of funnels (5).
    rippled: whether each funnel has ripples as in Rastrigin's function (False).
    share: share of the box that lies in the deepest funnel (None: half of its equal share, 0.5 / funnels).
    shift: seed of the positions, depths, widths and slopes of the funnels (0).
    rotate: seed of the rotations, one for each funnel (None: no rotation).
    noise: standard deviation of normal noise on each value (0.0).
    """
    if dim < 2 or funnels < 1:
        raise ValueError(f"expected at least 2 parameters and a funnel, got dim {dim} and {funnels} funnels")
    wanted = 0.5 / funnels if share is None else share
    if not 0 < wanted < 1:
        raise ValueError(f"expected a share of the volume between 0 and 1, got {share}")
    noise = checked_noise(noise)
    rng = np.random.default_rng((whole_number(shift, "shift", least=0), funnels))
    for _ in range(TRIES):
        found = _drawn(dim, funnels, rippled, wanted, rng, rotate, noise)
        if all(found.funnel(centre) == j for j, centre in enumerate(found.centres)):
            return found
    raise ValueError(f"expected fewer funnels in {dim} dimensions, got {funnels}: they take each other's place")


def _drawn(
    dim: int, k: int, rippled: bool, share: float, rng: np.random.Generator, rotate: int | None, noise: float
) -> Funnels:
    space = Box(-EDGE, EDGE, dim=dim)
    centres = rng.uniform(-EDGE, EDGE, (k, dim))
    depths = HEIGHT * np.append(0.0, rng.uniform(*DEPTHS, k - 1))
    powers = rng.uniform(0.5, 1, k)
    stretch = STRETCH ** rng.uniform(0, 1, (k, dim))
    stretch /= np.sqrt(np.mean(stretch**2, axis=1, keepdims=True))
    turning = None if rotate is None else np.random.default_rng((whole_number(rotate, "rotate", least=0), k))
    turns = [np.eye(dim) if turning is None else turn(dim, turning) for _ in range(k)]
    shapes = stretch[:, :, None] * np.array(turns)  # [k, d, d]
    ripples = rng.uniform(*RIPPLES, (k, dim)) * rippled
    others = rng.uniform(0.5, 1.5, k - 1)
    wanted = np.append(share, (1 - share) * others / others.sum()) if k > 1 else np.ones(1)
    grown = _grown(_offsets(rng.uniform(-EDGE, EDGE, (SAMPLES, dim)), centres, shapes), powers)
    heights, shares = _heights(depths, grown, wanted)
    return Funnels(space, centres, depths, heights, powers, shapes, ripples, shares, noise)


def _heights(depths: Floats, grown: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """Return heights [k] by which each bowl is the lowest at its wanted share of the points, and the shares they give.

    A bowl with too many points is made steeper, by ever smaller steps of the spread of the distances `grown` [k, n].
    """
    spread = float(np.log(grown).std())
    logs = -np.log(grown).mean(1)
    for i in range(ROUNDS):
        shares = _shares(depths, HEIGHT * np.exp(logs), grown)
        logs = logs + spread / (1 + i / 10) * np.log((shares + 1e-3) / (wanted + 1e-3))
        logs -= logs.mean()
    heights = HEIGHT * np.exp(logs)
    return heights, _shares(depths, heights, grown)


def _shares(depths: Floats, heights: Floats, grown: Floats) -> Floats:
    lowest = (depths[:, None] + heights[:, None] * grown).argmin(0)
    return np.asarray(np.bincount(lowest, minlength=len(depths)) / grown.shape[1])


def _offsets(x: Floats, centres: Floats, shapes: Floats) -> Floats:
    """Return where points [n, d] lie from each centre, in its own axes: [k, n, d]."""
    return np.asarray((x - centres[:, None]) @ shapes.transpose(0, 2, 1))


def _grown(u: Floats, powers: Floats) -> Floats:
    """Return the powers of the mean squares of offsets [k, n, d]: [k, n]."""
    squares = np.mean(u**2, axis=2) / EDGE**2
    return np.asarray(squares ** powers[:, None])
