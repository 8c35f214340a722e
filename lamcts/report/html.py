"""Sections of a report (texts, tables, figures), and how each is written as HTML."""

import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.plot.canvas import COLOURS, FAINT
from lamcts.text import visible
from lamcts.types import Json

DIGITS = 6  # significant ones in figures: more than a screen can show
OURS = ("hovertemplate", "texttemplate")  # the texts of a figure that hold no user's words
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
PALETTE = COLOURS
VALUES = "Cividis"  # even in brightness, and the same to most colour-blind readers
HEIGHT = 380  # pixels of a figure


class HtmlTable(NamedTuple):
    """Rows of cells under a head (empty: each row has its name in the first cell)."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    sortable: bool = False


class PlotlyFigure(NamedTuple):
    """Traces and layout of Plotly. least: pixels below which its width does not shrink, so that it is scrolled."""

    data: list[Json]
    layout: Json
    height: int = HEIGHT
    least: int = 0


class Grid(NamedTuple):
    """Small figures side by side, as many as the screen is wide."""

    figures: Sequence[PlotlyFigure]


Piece = str | HtmlTable | PlotlyFigure | Grid


@dataclass
class Section:
    """A title and the pieces below it."""

    title: str
    pieces: list[Piece] = field(default_factory=list)


def number(value: object) -> str:
    """Return a value as text, numbers with six significant digits."""
    if isinstance(value, (float, np.floating)):
        return "-" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def text(words: object) -> str:
    """Return words as HTML that shows them as they are."""
    return html.escape(visible(number(words)))


def axis(title: str, **more: object) -> Json:
    """Return an axis of a figure."""
    look: Json = {
        "title": {"text": title, "font": {"size": 12}, "standoff": 10},
        "gridcolor": "#eceef1",
        "zeroline": False,
    }
    look |= {"linecolor": FAINT, "ticks": "outside", "tickcolor": FAINT}
    return look | {"automargin": True, "exponentformat": "power"} | more


def layout(x: Json, y: Json, title: str = "", **more: object) -> Json:
    """Return the layout of a figure with two axes."""
    look: Json = {"xaxis": x, "yaxis": y, "margin": {"l": 10, "r": 10, "t": 34 if title else 12, "b": 10}}
    look |= {"title": {"text": title, "x": 0.01, "font": {"size": 14}}} if title else {}
    look |= {"legend": {"orientation": "h", "y": -0.22}, "hovermode": "closest"}
    return look | more


def dots(x: Iterable[object], y: Iterable[object], name: str, marker: Json) -> Json:
    """Return a trace of dots."""
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "name": name, "marker": marker}


def named(names: Sequence[str], rows: Iterable[int]) -> Json:
    """Return what a trace of dots shows next to the cursor: the names of some rows, and their coordinates."""
    return {"customdata": [names[row] for row in rows], "hovertemplate": "%{customdata}: %{x}, %{y}<extra></extra>"}


def line(x: Iterable[object], y: Iterable[object], name: str, colour: str, width: float, **more: object) -> Json:
    """Return a trace of a line."""
    look = {"color": colour, "width": width, **more}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "line": look}


class Writer:
    """Writes pieces as HTML, and numbers the figures."""

    def __init__(self) -> None:
        self._figures = 0

    def section(self, section: Section, level: int, name: str) -> str:
        body = "\n".join(map(self.piece, section.pieces))
        return f'<section id="{text(name)}"><h{level}>{text(section.title)}</h{level}>\n{body}\n</section>'

    def piece(self, piece: Piece) -> str:
        if isinstance(piece, HtmlTable):
            return _table(piece)
        if isinstance(piece, PlotlyFigure):
            return self._figure(piece)
        if isinstance(piece, Grid):
            return f'<div class="grid">{"".join(map(self._figure, piece.figures))}</div>'
        return f"<p>{text(piece)}</p>"

    def _figure(self, figure: PlotlyFigure) -> str:
        self._figures += 1
        name, style = f"figure{self._figures}", f"height:{figure.height}px;min-width:{figure.least}px"
        look = {"font": {"family": FONT, "size": 12}, "paper_bgcolor": "white", "plot_bgcolor": "white"}
        look |= {"colorway": list(PALETTE), **figure.layout}
        script = f'<script>draw("{name}",{_json(figure.data)},{_json(look)});</script>'
        return f'<div class="figure"><div id="{name}" style="{style}"></div>{script}</div>'


def _table(table: HtmlTable) -> str:
    click = ' onclick="sortBy(this)"' if table.sortable else ""
    head = "".join(f"<th{click}>{text(cell)}</th>" for cell in table.head)
    first = "td" if table.head else "th"
    rows = [
        f"<tr><{first}>{text(row[0])}</{first}>{''.join(f'<td>{text(cell)}</td>' for cell in row[1:])}</tr>"
        for row in table.rows
    ]
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    above = '<input class="filter" placeholder="filter: words of a row" oninput="keep(this)">' if table.sortable else ""
    kind = "table tall" if table.sortable else "table"
    return f'<div class="{kind}">{above}<table>{top}<tbody>{"".join(rows)}</tbody></table></div>'


def _json(value: object) -> str:
    """Return JSON that ends no script: `<`, `>` and `&` are written by their numbers."""
    written = json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return written


def _plain(value: object, ours: bool = False) -> object:
    """Return JSON values: texts escaped for Plotly, which reads some HTML, numbers rounded, None for what is none."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each, name in OURS) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(each, ours) for each in value]
    if isinstance(value, str):
        return value if ours else html.escape(visible(value), quote=False).replace("\n", "<br>")
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def plotly_js() -> str:
    """Return the script of Plotly, some 4.7 MB. MissingExtra where it is not installed."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtra.of("plotly", "report") from None
    return str(get_plotlyjs())
