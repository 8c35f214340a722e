"""Sheets of several panels in the package's style: medians with quartile bands, one legend below, saved as PNG.

Letters: r runs, k points of a curve.
"""

import textwrap
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.sheet import RESULTS
from lamcts.plot.canvas import COLOURS, FAINT, page, styled

Floats = NDArray[np.float64]

FIGURES = RESULTS / "figures"
DOTS_PER_INCH = 110  # keeps a sheet of eight panels below 150 kB
LETTERS_PER_INCH = 15  # of a note: some more would fit
LEAST_SPAN = 4.0  # quotient of the ends of an axis below which logarithms tell no more
STYLES = ("-", "--", "-.", ":")  # a second mark beside colour, for print


class Look(NamedTuple):
    """How the curves of one label are drawn."""

    colour: str
    style: str = "-"
    width: float = 1.8
    band: bool = True
    height: float = 3.0  # what stands higher is drawn over the rest


PLAIN = Look(FAINT, "-", 0.8, band=False, height=1.0)


def look(i: int) -> Look:
    """Return the i-th look: the colours in turn, and beside them the line styles; broken lines lie over whole ones."""
    return Look(COLOURS[i % len(COLOURS)], STYLES[i % len(STYLES)], height=2 + 0.1 * (i % len(STYLES)))


def panels(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Any, Any]:
    """Return a figure of that size in inches and its axes [rows, columns]; `shared` as in matplotlib's `subplots`."""
    figure = page(width, height)
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in grid.flat:
        styled(axes).tick_params(labelsize=8)
        axes.grid(axis="y", color=FAINT, alpha=0.2, linewidth=0.7)
    return figure, grid


def middle(values: Floats) -> tuple[NDArray[np.bool_], Floats]:
    """Return where all runs of `values` [r, k] are known, [k], and there lower quartile, median, upper quartile."""
    known = np.isfinite(values).all(0)  # [k]
    return known, np.quantile(values[:, known], [0.25, 0.5, 0.75], axis=0)


def draw(axes: Any, x: Floats, values: Floats, label: str, how: Look) -> None:
    """Draw the median of `values` [r, k] at `x` [k], with the band between the quartiles of two runs and more."""
    known, (low, median, high) = middle(values)
    if how.band and len(values) > 1:
        axes.fill_between(x[known], low, high, step="post", color=how.colour, alpha=0.15, linewidth=0)
    look = {"color": how.colour, "linestyle": how.style, "linewidth": how.width}
    axes.step(x[known], median, where="post", label=label, zorder=how.height, **look)


def named(axes: Any, title: str, x: str = "", y: str = "") -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)


def logarithmic(axes: Any) -> None:
    """Make the axis of values logarithmic, with plain numbers beside it; one that spans little stays linear."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.dataLim.intervaly
    if not 0 < low * LEAST_SPAN < high:
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def finish(figure: Any, title: str, path: Path, columns: int = 4, note: str = "") -> None:
    """Put the title above, below it `note` and one legend for all panels, and save the sheet; 0 columns: no legend."""
    note = textwrap.fill(note, int(LETTERS_PER_INCH * figure.get_figwidth()))
    figure.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left")
    if columns:
        entries = {}
        for axes in figure.axes:
            entries |= {label: line for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        place = {"loc": "outside lower center", "ncols": columns, "frameon": False, "fontsize": 9}
        figure.legend(entries.values(), entries.keys(), title=note, title_fontsize=8, **place)
    else:
        figure.supxlabel(note, fontsize=8)
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write the sheet in 256 colours, a third of the size of full colour, and say where."""
    from PIL import Image

    full = BytesIO()
    figure.savefig(full, dpi=DOTS_PER_INCH, format="png")
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(full) as image:
        image.convert("RGB").quantize(256).save(path, optimize=True)
    print(f"drawn: {path}")
