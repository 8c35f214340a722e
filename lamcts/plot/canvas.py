"""Empty figures in the package's style: sizes, widths, colours that colour-blind readers can tell apart.

Sizes, widths and shades, here and in the other files of this folder, were chosen by eye.
"""

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from lamcts.errors import MissingExtra
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

Look = dict[str, Any]  # keyword arguments of matplotlib
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
LETTER, POINTS = 0.58, 72  # mean width of a letter by its size, and points in an inch
TICKS, APART = 1.0, 0.1  # inches left of a title, and round each panel
LINES = 3  # of a title or a name
DOT, LEAST_DOT = 40, 9  # area of an evaluation's dot, in square points, and of one in a crowd
COLUMNS = 3  # of panels side by side
CROWD = 150  # evaluations from which on dots are smaller, that they leave something to see between them


def sheet(width: float = 7.2, height: float = 4.4) -> "tuple[Figure, Axes]":
    """Return a figure of that size in inches, and its axes. MissingExtra without matplotlib."""
    figure = page(width, height)
    return figure, styled(figure.add_subplot())


def page(width: float, height: float) -> "Figure":
    """Return a figure of that size in inches without axes. MissingExtra without matplotlib."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise MissingExtra.of("matplotlib", "plot") from None
    return Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout=ConstrainedLayoutEngine(w_pad=APART))


def styled(axes: "Axes") -> "Axes":
    """Return the axes with two faint sides and readable numbers."""
    axes.tick_params(labelsize=NOTE, color=FAINT)
    for side, line in axes.spines.items():
        line.set_visible(side in ("left", "bottom"))
        line.set_color(FAINT)
    return axes


def titled(axes: "Axes", title: str, x: str, y: str) -> None:
    """Write the title and the names of the axes as they are, in several lines if they are long."""
    (wide, high), place = _inches(axes), axes.get_position()
    axes.set_title(fitting(title, wide - TICKS, TITLE), loc="left", fontsize=TITLE, fontweight="bold", pad=10)
    axes.set_xlabel(fitting(x, place.width * wide, LABEL), fontsize=LABEL)
    axes.set_ylabel(fitting(y, place.height * high, LABEL), fontsize=LABEL)


def _inches(axes: "Axes") -> tuple[float, float]:
    """Return the width and the height of the whole figure."""
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes of a figure that is drawn"
    return figure.get_figwidth(), figure.get_figheight()


def headed(figure: "Figure", title: str) -> None:
    """Write the title of a figure of several panels."""
    figure.suptitle(fitting(title, figure.get_figwidth(), TITLE), fontsize=TITLE, fontweight="bold")


def fitting(text: str, inches: float, size: float) -> str:
    """Return a text as it is, in lines of a width in inches; what does not fit into LINES of them is cut."""
    letters = max(1, int(inches * POINTS / (LETTER * size)))
    return literal("\n".join(wrap(text, letters, max_lines=LINES, placeholder="...", break_on_hyphens=False)))


def dot(n: int) -> float:
    """Return the area of each of n dots."""
    return float(max(LEAST_DOT, DOT * min(1.0, CROWD / max(n, 1)) ** 0.5))


def scattered(axes: "Axes", x: ArrayLike, y: ArrayLike, n: int, label: str) -> None:
    """Draw faint dots, some of n evaluations, under a label."""
    axes.scatter(x, y, s=dot(n), color=FAINT, alpha=0.5, linewidths=0, label=label)


def panels(
    n: int, width: float, height: float, alone: tuple[float, float] | None = None, columns: int = COLUMNS
) -> "tuple[Figure, list[Axes]]":
    """Return a figure and its n panels of that size in inches, at most `columns` side by side."""
    across = min(n, columns)
    down = -(-n // across)
    figure = page(*alone) if alone and n == 1 else page(width * across, height * down + 0.9)
    return figure, [styled(figure.add_subplot(down, across, i + 1)) for i in range(n)]


def parallel_axes(
    axes: "Axes", heights: Floats, shades: Floats, names: Sequence[str], ends: Sequence[tuple[str, str]]
) -> None:
    """Draw rows of heights [k, p] in [0, 1], with shades [k], as lines over p axes with words at both ends."""
    from matplotlib import colormaps

    for line, shade in zip(heights, shades, strict=True):
        axes.plot(range(len(names)), line, color=colormaps[VALUES](float(shade)), alpha=0.65, linewidth=1.1)
    for i, (bottom, top) in enumerate(ends):
        axes.axvline(i, color=FAINT, linewidth=1, zorder=1)
        axes.text(i, -0.03, literal(bottom), va="top", ha="center", fontsize=NOTE)
        axes.text(i, 1.03, literal(top), va="bottom", ha="center", fontsize=NOTE)
    inches = (_inches(axes)[0] - TICKS) / max(1, len(names))
    axes.set_xticks(range(len(names)), [fitting(name, inches, LABEL) for name in names], fontsize=LABEL)
    axes.set_yticks([])
    axes.set(xlim=(-0.35, len(names) - 0.65), ylim=(-0.12, 1.12))
    axes.spines["left"].set_visible(False)


def colour_bar(figure: "Figure", shades: "ScalarMappable", axes: "Axes | Sequence[Axes]", label: str) -> None:
    """Draw the scale of colours next to axes."""
    bar = figure.colorbar(shades, ax=axes, pad=0.02, shrink=0.9)
    bar.set_label(label, fontsize=NOTE)
    bar.ax.tick_params(labelsize=NOTE, color=FAINT)
    bar.outline.set_visible(False)


def keyed(axes: "Axes") -> None:
    """Draw the legend where it covers least, on a ground that keeps it readable, if there is anything to say."""
    if axes.get_legend_handles_labels()[1]:
        axes.legend(facecolor="white", framealpha=0.85, edgecolor="none", fontsize=NOTE, loc="best")


def literal(text: str) -> str:
    """Return a text in which matplotlib sees no formula: between two dollars it reads TeX, and may fail."""
    return text.replace("$", r"\$")
