"""Random spaces: narrow, wide, logarithmic, in steps, discrete, mixtures, tables, nested, with a fidelity."""

import math
from typing import Any

import numpy as np

import lamcts
from benchmarks.robustness.attacks.verdict import pick

FEW = 1000  # values: a range of more is not used up by a session
MANY = 300  # coordinates of the largest boxes
FIDELITY = "fidelity"  # its name


def drawn(rng: np.random.Generator, most: int = MANY, fidelity: bool | None = None) -> Any:
    """Return a space of about 1 to `most` coordinates, small ones more often; with a fidelity, without, or either."""
    kinds = (_box, _box, _product, _product, _named, _named, _finite, _single, _with_fidelity)
    draw = _with_fidelity if fidelity else pick(rng, kinds)
    space = draw(rng, _width(rng, most))
    return without_fidelity(space) if fidelity is False else space


def size(space: Any) -> float:
    """Return how many points a space has at most; a range of few floats has as many values as floats."""
    if isinstance(space, lamcts.Float) and math.isinf(space.size):
        return _values(space.low, space.high)
    if isinstance(space, lamcts.Box):
        return math.prod(_values(*side) for side in zip(space.low.tolist(), space.high.tolist(), strict=True))
    members = getattr(space, "members", None)
    return space.size if members is None or not math.isinf(space.size) else math.prod(map(size, members))


def _values(low: float, high: float) -> float:
    first, last = (int(np.float64(abs(end)).view(np.int64)) * (-1 if end < 0 else 1) for end in (low, high))
    steps = last - first  # from a float to the next one
    return steps + 1.0 if steps < FEW else math.inf


def _width(rng: np.random.Generator, most: int) -> int:
    """Six of ten times up to 6, three times up to 30, once up to `most`."""
    top = pick(rng, (6,) * 6 + (30,) * 3 + (most,))
    return int(rng.integers(1, min(top, most) + 1))


def _box(rng: np.random.Generator, width: int) -> Any:
    if rng.random() < 0.5:
        return lamcts.Box(-5.0, 10.0, dim=width)
    ends = [_bounds(rng) for _ in range(width)]
    return lamcts.Box([low for low, _ in ends], [high for _, high in ends])


def _bounds(rng: np.random.Generator) -> tuple[float, float]:
    """Usual ranges, and those at the ends of the floats: ulp-wide, denormal, as wide as floats go."""
    odd = ((1.0, float(np.nextafter(1.0, 2.0))), (0.0, 5e-324), (-8e307, 8e307), (1e16, 1e16 + 64), (-1e-300, 1e-300))
    if rng.random() < 0.2:
        return pick(rng, odd)
    low = float(rng.normal()) * 10.0 ** int(rng.integers(-6, 7))
    return low, low + abs(low) * float(rng.random()) + 1e-6


def _single(rng: np.random.Generator, width: int) -> Any:
    kinds = (_real, _real, _whole, _options, _steps, _items, lambda r: lamcts.Bool())
    return pick(rng, kinds)(rng)


def _real(rng: np.random.Generator) -> Any:
    if rng.random() < 0.5:
        low = 10.0 ** float(rng.uniform(-9, 3))
        return lamcts.Float(low, low * 10.0 ** float(rng.uniform(0.01, 9)), log=True)
    return lamcts.Float(*_bounds(rng))


def _whole(rng: np.random.Generator) -> Any:
    low = int(rng.integers(1, 50))
    if rng.random() < 0.3:
        return lamcts.Int(low, low + int(rng.integers(1, 10**6)), log=True)
    return lamcts.Int(low, low + int(pick(rng, (0, 1, 5, 100, 2**60))))


def _steps(rng: np.random.Generator) -> Any:
    """A range in steps that rounding makes uneven, or in whole ones."""
    n, low = int(rng.integers(1, 40)), float(pick(rng, (0, -1, 1 / 3, -math.pi)))
    if rng.random() < 0.5:
        return lamcts.Int(-3, -3 + 7 * n, step=7)
    step = float(pick(rng, (0.1, 1 / 3, math.pi / 7, np.float32(0.3))))
    return lamcts.Float(low, low + n * step, step=step)


def _items(rng: np.random.Generator) -> Any:
    """A mixture, a selection or an order of a few items."""
    n = int(rng.integers(2, 7))
    kinds = (lamcts.Simplex(n), lamcts.Simplex(n, total=100), lamcts.Permutation(n))
    return pick(rng, (*kinds, lamcts.Subset(n, int(rng.integers(1, n)))))


def _with_fidelity(rng: np.random.Generator, width: int) -> Any:
    members = {f"p{i}": member for i, member in enumerate(_members(rng, min(width, 6)))}
    low, factor = int(rng.integers(1, 4)), int(pick(rng, (2, 9, 27, 50)))
    return lamcts.Space(members | {FIDELITY: lamcts.Fidelity(low, low * factor, resumes=bool(rng.random() < 0.5))})


def fidelity_of(space: Any) -> Any:
    """Return the `Fidelity` of a space, None where it has none."""
    names = getattr(space, "names", None) or ()
    return space.members[names.index(FIDELITY)] if FIDELITY in names else None


def without_fidelity(space: Any) -> Any:
    """Return a space without its `Fidelity`."""
    if fidelity_of(space) is None:
        return space
    members = dict(zip(space.names, space.members, strict=True))
    return lamcts.Space({name: member for name, member in members.items() if name != FIDELITY})


def _options(rng: np.random.Generator) -> Any:
    options = [None, "a", "b", 'q"; --', "\u00e4\u20ac", 1, 2.5, True, (1, 2), "", "x" * 300, [1, [2]], math.inf]
    return lamcts.Choice(options[: int(rng.integers(1, len(options) + 1))])


def _finite(rng: np.random.Generator, width: int) -> Any:
    """A table: rows of numbers, or names with features beside them."""
    n = int(rng.integers(1, 200))
    table = rng.normal(size=(n, min(width, 8)))
    if rng.random() < 0.5:
        return lamcts.Finite(table)
    return lamcts.Finite([f"point {i}" for i in range(n)], features=table)


def _product(rng: np.random.Generator, width: int) -> Any:
    return lamcts.Space([*_members(rng, width)])


def _named(rng: np.random.Generator, width: int) -> Any:
    return lamcts.Space({f"p{i}": member for i, member in enumerate(_members(rng, width))})


def conditional(rng: np.random.Generator) -> Any:
    """Parameters that exist only where others have certain values, two levels deep."""
    top = lamcts.Choice(["a", "b", "c"])
    members: dict[str, Any] = {"kind": top, "x": lamcts.Float(-1.0, 2.0)}
    members["rate"] = lamcts.Float(1e-4, 1.0, log=True, when={"kind": ["a", "b"]})
    members["layers"] = lamcts.Int(1, int(rng.integers(2, 9)), when={"kind": "b"})
    for i in range(int(rng.integers(0, 4))):
        when = pick(rng, ({"kind": "c"}, {"kind": "b", "layers": [2]}))
        members[f"deep{i}"] = pick(rng, (lamcts.Float(0, 1, when=when), lamcts.Choice([1, 2, 3], when=when)))
    return lamcts.Space(members)


def _members(rng: np.random.Generator, width: int) -> list[Any]:
    """At most `width` parameters, of which some are spaces of several themselves."""
    members: list[Any] = []
    while len(members) < min(width, 60) and (not members or rng.random() < 0.95):
        nested = rng.random() < 0.1
        members.append(pick(rng, (_box, _finite))(rng, 3) if nested else _single(rng, 1))
    return members
