"""An empty sheet in the package's style: readable sizes, few lines, colours that colour-blind readers tell apart.

Sizes, widths and shades, here and in the other files of this folder, were chosen by eye.
"""

from typing import TYPE_CHECKING

from lamcts.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette (Color Universal Design, 2008) without its yellow, which is faint on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
VALUES = "cividis"  # even in brightness, and the same to most colour-blind readers
SELECTED = "#D55E00"
BEST = "#D7191C"
FAINT = "#8A8F98"
DOTS_PER_INCH = 140  # sharp on a screen


def sheet(width: float = 7.2, height: float = 4.4) -> "tuple[Figure, Axes]":
    """Return a figure of that size in inches, and its axes. MissingExtra without matplotlib."""
    figure = page(width, height)
    return figure, styled(figure.add_subplot())


def page(width: float, height: float) -> "Figure":
    """Return a figure of that size in inches without axes. MissingExtra without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra.of("matplotlib", "plot") from None
    return Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout="constrained")


def styled(axes: "Axes") -> "Axes":
    """Return the axes with two faint sides and readable numbers."""
    axes.tick_params(labelsize=9, color=FAINT)
    for side, line in axes.spines.items():
        line.set_visible(side in ("left", "bottom"))
        line.set_color(FAINT)
    return axes


def titled(axes: "Axes", title: str, x: str, y: str) -> None:
    """Write the title and the names of the axes as they are."""
    axes.set_title(literal(title), loc="left", fontsize=12, fontweight="bold", pad=10)
    axes.set_xlabel(literal(x), fontsize=10)
    axes.set_ylabel(literal(y), fontsize=10)


def literal(text: str) -> str:
    """Return a text in which matplotlib sees no formula: between two dollars it reads TeX, and may fail."""
    return text.replace("$", r"\$")
