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
INK = "#3C4149"  # of notes: FAINT is too pale to be read from afar
DOTS_PER_INCH = 140  # sharp on a screen
# Points, on a sheet of about seven inches: across a projector of 1024 pixels a note is 22 pixels high, a dot 12 wide.
TITLE, LABEL, NOTE = 14, 12, 11
DOT, LEAST_DOT = 40, 9  # area of an evaluation's dot, in square points, and of one in a crowd
CROWD = 150  # evaluations from which on dots are smaller, that they leave something to see between them


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
    axes.tick_params(labelsize=NOTE, color=FAINT)
    for side, line in axes.spines.items():
        line.set_visible(side in ("left", "bottom"))
        line.set_color(FAINT)
    return axes


def titled(axes: "Axes", title: str, x: str, y: str) -> None:
    """Write the title and the names of the axes as they are."""
    axes.set_title(literal(title), loc="left", fontsize=TITLE, fontweight="bold", pad=10)
    axes.set_xlabel(literal(x), fontsize=LABEL)
    axes.set_ylabel(literal(y), fontsize=LABEL)


def dot(n: int) -> float:
    """Return the area of each of n dots."""
    return float(max(LEAST_DOT, DOT * min(1.0, CROWD / max(n, 1)) ** 0.5))


def keyed(axes: "Axes") -> None:
    """Draw the legend where it covers least, on a ground that keeps it readable, if there is anything to say."""
    if axes.get_legend_handles_labels()[1]:
        axes.legend(facecolor="white", framealpha=0.85, edgecolor="none", fontsize=NOTE, loc="best")


def literal(text: str) -> str:
    """Return a text in which matplotlib sees no formula: between two dollars it reads TeX, and may fail."""
    return text.replace("$", r"\$")
