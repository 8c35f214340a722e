"""Sheets of several panels in the package's style: one legend below, saved as PNG."""

import textwrap
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.sheet import RESULTS
from lamcts.plot.canvas import COLOURS, FAINT, page, styled

Floats = NDArray[np.float64]

FIGURES = RESULTS / "figures"
DOTS_PER_INCH = 110  # keeps a sheet of eight panels below 150 kB
LETTERS_PER_INCH = 15  # of a note: some more would fit
STYLES = ("-", "--", "-.", ":")  # a second mark beside colour, for print


def panels(rows: int, columns: int, width: float, height: float, **shared: Any) -> tuple[Any, Any]:
    """Return a figure of that size in inches and its axes [rows, columns]; `shared` as in matplotlib's `subplots`."""
    figure = page(width, height)
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in grid.flat:
        styled(axes).tick_params(labelsize=8)
        axes.grid(axis="y", color=FAINT, alpha=0.2, linewidth=0.7)
    return figure, grid


def draw(axes: Any, x: Floats, y: Floats, label: str, i: int) -> None:
    """Draw the i-th curve [k] as steps: the colours in turn, and the line styles for print."""
    look = {"color": COLOURS[i % len(COLOURS)], "linestyle": STYLES[i % len(STYLES)], "linewidth": 1.8}
    axes.step(x, y, where="post", label=label, zorder=2 + 0.1 * (i % len(STYLES)), **look)


def named(axes: Any, title: str, x: str = "", y: str = "") -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)


def finish(figure: Any, title: str, path: Path, columns: int, note: str) -> None:
    """Put the title above, below it `note` and one legend for all panels, and save the sheet."""
    note = textwrap.fill(note, int(LETTERS_PER_INCH * figure.get_figwidth()))
    figure.suptitle(title, fontsize=12, fontweight="bold", x=0.01, ha="left")
    entries = {}
    for axes in figure.axes:
        entries |= {label: line for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    place = {"loc": "outside lower center", "ncols": columns, "frameon": False, "fontsize": 9}
    figure.legend(entries.values(), entries.keys(), title=note, title_fontsize=8, **place)
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
