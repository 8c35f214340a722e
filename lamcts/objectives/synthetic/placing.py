"""A formula in a box with a shifted minimum, distorted and rotated axes, and noise: `formula(R (x - centre))`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.base import BUDGET, checked_noise, register
from lamcts.objectives.protocol import digest
from lamcts.spaces.box import Box
from lamcts.types import Floats, Json, whole_number

PIECES = 4  # between five knots, evenly spaced over the box (untuned, as all that follows)
STEEPEST = 4.0  # of a curve; 1 / 4 at the flattest
STRETCH = 100.0  # between axes at the most
RIPPLES = 0.3, 3.0  # by which a coordinate's ripples are made lower or higher
Formula = Callable[..., Floats]  # of offsets u [n, d] from the minimum, and the heights of ripples if it has any
SHIFT_SHARE = 1 / 4  # of the range, either way: at least one of the two ways stays inside the box
REFERENCE_SEED = 12345  # as in earlier measurements on the same functions, so that numbers compare
Shift = int | str | Sequence[float] | None  # a seed, "reference", or a vector
Rotate = int | str | None  # a seed, or "reference"
BENDS = 18  # the stream of `bend`: a seed that shifts and turns as well is to draw other numbers (any number but 0)


@dataclass(frozen=True, eq=False)
class Bend:
    """The curves' pieces [4, 4, d] (power of the way into a piece, piece, coordinate), in shares of the box's range.

    stretch: of each axis, [d]. ripples: heights of each coordinate's ripples, [d], where the function has ripples.
    """

    pieces: Floats
    stretch: Floats
    ripples: Floats

    def offsets(self, share: Floats, centre: Floats) -> Floats:
        """Return how far points are from the optimum, both as shares of the range [n, d] and [d]: [n, d]."""
        return self.stretch * (self.curve(share) - self.curve(centre[None]))

    def curve(self, share: Floats) -> Floats:
        """Return where the curves bring `share` [n, d]."""
        piece = np.clip((PIECES * share).astype(int), 0, PIECES - 1)  # [n, d]
        way = share - piece / PIECES
        a, b, c, d = self.pieces[:, piece, np.arange(share.shape[1])]  # [n, d] each
        return np.asarray(a + way * (b + way * (c + way * d)))


@dataclass(frozen=True, eq=False)
class Synthetic:
    """`formula(R (x - centre))` plus normal noise: centre [d], rotation R [d, d], and the bend of `x - centre`."""

    name: str
    space: Box
    formula: Formula
    centre: Floats
    rotation: Floats | None = None
    noise: float = 0.0
    bend: Bend | None = None

    maximize = False
    x0 = None

    @property
    def optimum(self) -> float:
        """The least value possible, as the formula itself rounds it; noise is not counted."""
        return float(self.formula(np.zeros((1, len(self.centre))))[0])

    @property
    def noisy(self) -> bool:
        return self.noise > 0

    def fingerprint(self) -> Json:
        found = {"function": self.name, "placed": digest(self.centre, self.rotation), "noise": float(self.noise)}
        if self.bend is not None:
            found["bent"] = digest(self.bend.pieces, self.bend.stretch, self.bend.ripples)
        return found

    def many(self, points: ArrayLike) -> Floats:
        """Return the noise-free values of `points` [n, d] as [n]."""
        x = np.asarray(points, float)
        if x.ndim != 2 or x.shape[1] != len(self.centre):
            raise ValueError(f"expected points of shape [n, {len(self.centre)}], got {list(x.shape)}")
        u = x - self.centre if self.bend is None else self._bent(self.bend, x)  # [n, d]
        return self.formula(u if self.rotation is None else u @ self.rotation.T)

    def _bent(self, bend: Bend, x: Floats) -> Floats:
        low, width = self.space.low, self.space.high - self.space.low
        return width * bend.offsets((x - low) / width, (self.centre - low) / width)

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> float:
        value = float(self.many(np.asarray(point, float)[None])[0])
        return value + self.noise * float(np.random.default_rng(seed).standard_normal()) if self.noise else value


@dataclass(frozen=True)
class Landscape:
    """A formula, its box, and where its minimum lies before any shift: one number for all axes, or one for each.

    `at` may be a function of the dimension that returns the place [dim]. rippled: the formula takes `ripples`.
    """

    name: str
    formula: Formula
    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    at: float | tuple[float, ...] | Callable[[int], Floats]
    least_dim: int = 1
    rippled: bool = False

    def place(self, dim: int, shift: Shift, rotate: Rotate, noise: float, bend: int | None = None) -> Synthetic:
        """Return the function. ValueError for a shift by vector that takes the minimum out of the box.

        A seed draws each displacement from a quarter of the range either way; one that would leave the box is reversed.
        """
        if dim < self.least_dim:
            raise ValueError(f"expected dim of at least {self.least_dim} for {self.name}, got {dim}")
        space = Box(self.low, self.high, dim=dim)
        rng = None if bend is None else np.random.default_rng((whole_number(bend, "bend", least=0), BENDS))
        centre = self._centre(space, shift, rng)
        bends = None if rng is None else drawn(dim, rng)
        formula = partial(self.formula, ripples=bends.ripples) if bends and self.rippled else self.formula
        return Synthetic(self.name, space, formula, centre, _rotation(rotate, dim), checked_noise(noise), bends)

    def _centre(self, space: Box, shift: Shift, rng: np.random.Generator | None) -> Floats:
        """Return where the minimum lies, [d]; with `rng` and no shift anywhere in the box."""
        if rng is not None and shift is None:
            return rng.uniform(space.low, space.high)
        at = np.broadcast_to(np.asarray(self.at(space.dim) if callable(self.at) else self.at, float), space.dim)
        centre: Floats = at + _shift(shift, at, space)
        if not _inside(centre, space).all():
            box = f"[{self.low}, {self.high}]"
            raise ValueError(f"expected a shift that keeps the optimum inside {box}, got the optimum {centre}")
        return centre


def landscape(
    name: str,
    line: str,
    low: float | tuple[float, ...],
    high: float | tuple[float, ...],
    at: float | tuple[float, ...] | Callable[[int], Floats],
    *,
    fixed_dim: int | None = None,
    budget: int = BUDGET,
    **known: Any,
) -> Callable[[Formula], Formula]:
    """Return a decorator that registers a formula as an objective; `known` has other fields of `Landscape`."""

    def add(formula: Formula) -> Formula:
        made = Landscape(name, formula, low, high, at, **known)

        def build(
            dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
        ) -> Synthetic:
            """Return the function in its box.

            dim: number of parameters (20); thesis 5.4.2: 20, and 100.
            shift: displacement of the minimum, a seed, "reference" or a vector (None: no displacement). A seed draws
                each coordinate from a quarter of the range either way; "reference" is a fixed draw.
            rotate: rotation about the minimum, a seed or "reference" (None: no rotation).
            noise: standard deviation of normal noise on each value (0.0; in the function's unit).
            bend: seed of a distortion of the axes (None: no distortion). Without `shift` it also draws the position of
                the optimum from the whole box.
            """
            return made.place(dim, shift, rotate, noise, bend)

        def build_fixed(
            shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
        ) -> Synthetic:
            return made.place(fixed_dim or 0, shift, rotate, noise, bend)

        build_fixed.__doc__ = build.__doc__
        register(name, line, budget=budget)(build_fixed if fixed_dim else build)
        return formula

    return add


def _shift(shift: Shift, at: Floats, space: Box) -> Floats:
    """Return the vector [d] to move the optimum by: from None, "reference", a seed, or the vector itself."""
    dim, width = space.dim, space.high - space.low
    if shift is None:
        return np.zeros(dim)
    if isinstance(shift, (str, int, np.integer)):
        if isinstance(shift, str):
            _check_reference("shift", shift)
            share = np.random.RandomState(REFERENCE_SEED).uniform(-SHIFT_SHARE, SHIFT_SHARE, dim)
        else:
            share = np.random.default_rng(whole_number(shift, "shift", least=0)).uniform(-SHIFT_SHARE, SHIFT_SHARE, dim)
        vector: Floats = share * width
        return np.where(_inside(at + vector, space), vector, -vector)
    vector = np.asarray(shift, float)
    if vector.shape != (dim,) or not np.isfinite(vector).all():
        raise ValueError(
            f"expected shift as None, a seed, 'reference' or {dim} finite numbers, got shape {vector.shape}"
        )
    return vector


def _inside(x: Floats, space: Box) -> NDArray[np.bool_]:
    return (space.low <= x) & (x <= space.high)


def _rotation(rotate: Rotate, dim: int) -> Floats | None:
    """Return a rotation or reflection [d, d] from a seed or "reference", or None."""
    if rotate is None:
        return None
    if isinstance(rotate, str):
        _check_reference("rotate", rotate)
        from scipy.stats import ortho_group

        return np.atleast_2d(np.asarray(ortho_group.rvs(dim, random_state=REFERENCE_SEED), float))
    return turn(dim, np.random.default_rng(whole_number(rotate, "rotate", least=0)))


def turn(dim: int, rng: np.random.Generator) -> Floats:
    """Return a rotation or reflection [d, d], uniform over all (QR of normals, Mezzadri 2007)."""
    q, r = np.linalg.qr(rng.standard_normal((dim, dim)))
    return np.asarray(q * np.sign(np.diag(r)), float)


def _check_reference(what: str, text: str) -> None:
    if text != "reference":
        raise ValueError(f"expected {what} as None, a seed or 'reference', got {text!r}")


def drawn(dim: int, rng: np.random.Generator) -> Bend:
    """Return bends at random: knots, stretches (of mean square 1, which keeps the range), heights of ripples."""
    pieces = _curve_candidates(dim, rng)
    while (steep := ~_within(pieces)).any():  # about half of them
        pieces[:, :, steep] = _curve_candidates(int(steep.sum()), rng)
    stretch = STRETCH ** rng.uniform(0, 1, dim)
    return Bend(pieces, stretch / np.sqrt(np.mean(stretch**2)), rng.uniform(*RIPPLES, dim))


def _curve_candidates(dim: int, rng: np.random.Generator) -> Floats:
    """Return monotone cubics through random knots, with the slopes of Fritsch and Butland 1984 (harmonic means)."""
    rise = STEEPEST ** rng.uniform(-1, 1, (PIECES, dim))
    rise /= rise.mean(0)  # the curve's mean slopes between knots, [PIECES, dim]
    slopes = np.vstack([rise[:1], 2 / (1 / rise[:-1] + 1 / rise[1:]), rise[-1:]])  # at the knots
    left, right, width = slopes[:-1], slopes[1:], 1 / PIECES
    low = np.vstack([np.zeros(dim), np.cumsum(rise, axis=0)[:-1] / PIECES])
    return np.array([low, left, (3 * rise - 2 * left - right) / width, (left + right - 2 * rise) / width**2])


def _within(pieces: Floats) -> NDArray[np.bool_]:
    """Return which curves [d] have no slope beyond the limits, neither at a knot nor where the slope turns."""
    _, b, c, d = pieces  # [PIECES, d] each
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = np.clip(np.nan_to_num(-c / (3 * d)), 0, 1 / PIECES)
    slopes = np.array([b + way * (2 * c + 3 * d * way) for way in (0, turn, 1 / PIECES)])
    return np.asarray(((slopes >= 1 / STEEPEST) & (slopes <= STEEPEST)).all((0, 1)))
