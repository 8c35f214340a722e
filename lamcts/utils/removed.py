"""Names that earlier versions had, and what replaces them.

REMOVED maps a kind of name to its removed names: "sampler", or the class or function whose option it was.
"""

from collections.abc import Iterable
from difflib import get_close_matches

REMOVED: dict[str, dict[str, str]] = {
    "sampler": {
        "portfolio": "use 'coordinate' for many local optima along the axes, otherwise 'auto'",
        "Portfolio": "use LocalGlobal, or Coordinate for many local optima along the axes",
    },
    "GpBo": {"device": "leave it out: models have at most 1000 rows, where NumPy is faster than gpytorch"},
    "Turbo": {"device": "leave it out: models have at most 1000 rows, where NumPy is faster than gpytorch"},
}


def hint(kind: str, name: object, known: Iterable[str] = ()) -> str:
    """Return the end of a message about an unknown name: its replacement, or the nearest known name, or nothing."""
    if (cure := REMOVED.get(kind, {}).get(str(name))) is not None:
        return f"; {name!r} was removed: {cure}"
    near = get_close_matches(str(name), [*known], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def refuse_removed(owner: str, options: Iterable[str]) -> None:
    """Raise TypeError for the first of the given options that its owner no longer has."""
    for name in options:
        if name in REMOVED.get(owner, {}):
            raise TypeError(f"{owner}: expected no option {name!r}, got one{hint(owner, name)}")
