"""The page of a report: all sections of one or several runs in one HTML file that loads nothing from a network."""

from collections.abc import Sequence

import numpy as np

from lamcts.models.predictor import MIN_VALUES
from lamcts.plot import tree_used
from lamcts.plot.evaluations import fit_of, importance_of
from lamcts.report import parameters, progress, tables, tree
from lamcts.report.html import Grid, Piece, Section, Writer, plotly_js, text
from lamcts.report.metrics import metrics
from lamcts.report.runs import LabelledRun

NOTHING = "No evaluation has succeeded yet."
MOST_RUNS = 6  # with sections of their own; further runs are only compared
STYLE = """
:root{color-scheme:light}*{box-sizing:border-box}
body{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;color:#1c2024;margin:0;background:#f6f7f9}
header,main{max-width:1180px;margin:0 auto;padding:0 16px}h1{font-size:1.5rem;margin:18px 0 2px}
h2{font-size:1.25rem;margin:4px 0 8px}h3{font-size:1.05rem;margin:4px 0 8px}
p,h1,h2,h3{overflow-wrap:anywhere}p{margin:6px 0;color:#4a525c;max-width:80ch}
nav{position:sticky;top:0;background:#fffd;border-bottom:1px solid #dfe3e8;z-index:9;overflow-x:auto;white-space:nowrap}
nav div{max-width:1180px;margin:0 auto;padding:8px 16px}nav a{margin-right:16px;color:#0b5394;text-decoration:none}
section{background:#fff;border:1px solid #e3e6ea;border-radius:10px;padding:14px 16px;margin:14px 0}
section[id]{scroll-margin-top:46px}
section section{border-width:1px 0 0;border-radius:0;padding:14px 0 0}
.table,.figure{overflow-x:auto;max-width:100%}table{border-collapse:collapse;font-size:14px;margin:8px 0}
th,td{text-align:left;padding:4px 14px 4px 0;border-bottom:1px solid #eceef1;vertical-align:top;
overflow-wrap:break-word;max-width:46ch;min-width:5ch}
td{font-variant-numeric:tabular-nums}th[onclick]{cursor:pointer}.tall{max-height:70vh}
.tall thead{position:sticky;top:0;background:#fff}.filter{font:inherit;padding:4px 8px;width:min(100%,24em)}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:8px}
"""
# Browsers load nothing from a network under this policy. Plotly generates code to draw parallel axes.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
# One button saves the figure. On touch screens a finger scrolls the page and does not zoom.
DRAW = """const touch=matchMedia('(pointer: coarse)').matches;
const config={responsive:true,displaylogo:false,displayModeBar:touch?false:'hover',modeBarButtons:[['toImage']]};
function draw(name,data,layout){if(touch)layout.dragmode=false;Plotly.newPlot(name,data,layout,config)}"""
IMPORTANCE = (
    "The bars are total Sobol indices of the model over the whole space: half the mean squared change of the predicted "
    "value when the values of one parameter are permuted among uniform points, as a share of the variance of the "
    "predictions. A conditional parameter is permuted where it is active. If the journal does not hold the space, the "
    "points are the evaluations."
)
SURFACES = (
    "Each plane has mean and standard deviation of the model, the other parameters as at the best point (star). "
    "Dots are evaluations; dashed lines are where a constraint is expected to be met. Mixtures have ternary axes."
)
# Sorts a table by the column whose head is clicked, and hides the rows that lack a word of the filter.
TABLES = """function rowsOf(t){return [...t.tBodies[0].rows]}
function sortBy(h){const t=h.closest('table'),i=h.cellIndex,up=h.dataset.up!=='1';h.dataset.up=up?'1':'0';
const v=r=>r.cells[i].textContent,n=x=>x===''||x==='-'?NaN:Number(x);
rowsOf(t).sort((a,b)=>{const p=n(v(a)),q=n(v(b)),s=isNaN(p)||isNaN(q)?isNaN(p)-isNaN(q)||v(a).localeCompare(v(b)):p-q;
return up?s:-s}).forEach(r=>t.tBodies[0].append(r))}
function keep(f){const words=f.value.toLowerCase().split(/\\s+/);rowsOf(f.nextElementSibling).forEach(r=>{
const text=r.textContent.toLowerCase();r.hidden=!words.every(w=>text.includes(w))})}"""


def page(runs: Sequence[LabelledRun]) -> str:
    """Return the HTML of a report on one or several runs.

    Parameters
    ----------
    runs : sequence of LabelledRun
        The runs, in the order in which they are shown; the first six have sections of their own.

    Returns
    -------
    str
        One HTML page of about 5 MB that loads nothing from a network.

    Raises
    ------
    ValueError
        If there is no run.
    MissingExtra
        If Plotly is not installed.
    """
    return whole(runs, f"<script>{plotly_js()}</script>")


def whole(runs: Sequence[LabelledRun], scripts: str, policy: str = POLICY, foot: str = "") -> str:
    """Return the page with some HTML in its head that loads Plotly, and some at its end."""
    if not runs:
        raise ValueError("report: expected at least one run, got none; give the path of a journal")
    writer = Writer()
    first = [_overview(runs), *_compared(runs)]
    own = [(run, _own(run, len(runs))) for run in runs[:MOST_RUNS]]
    parts = [writer.section(section, 2, f"part{i}") for i, section in enumerate(first)]
    links = [(f"part{i}", section.title) for i, section in enumerate(first)]
    for k, (run, sections) in enumerate(own):
        inner = [writer.section(section, 3, f"run{k}-{i}") for i, section in enumerate(sections)]
        title = run.label if len(runs) > 1 else "This run"
        parts.append(f'<section id="run{k}"><h2>{text(title)}</h2>{"".join(inner)}</section>')
        links += [(f"run{k}", title)] if len(runs) > 1 else [(f"run{k}-{i}", s.title) for i, s in enumerate(sections)]
    bar = "".join(f'<a href="#{text(name)}">{text(words)}</a>' for name, words in links)
    title = f"lamcts: {', '.join(dict.fromkeys(run.title for run in runs))}"[:120]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title><link rel=icon href='data:,'><style>{STYLE}</style>\n"
        f"{scripts}<script>{DRAW}\n{TABLES}</script></head>\n"
        f"<body><nav><div>{bar}</div></nav><header><h1>{text(title)}</h1></header><main>\n{''.join(parts)}\n"
        f"</main>{foot}</body></html>\n"
    )


def _overview(runs: Sequence[LabelledRun]) -> Section:
    section = Section("Overview", [tables.overview(runs)])
    if len(runs) > MOST_RUNS:
        section.pieces.append(f"Of {len(runs)} runs the first {MOST_RUNS} have sections of their own.")
    return section


def _compared(runs: Sequence[LabelledRun]) -> list[Section]:
    """Return the sections that show all runs with the goals of the first side by side."""
    same = [run for run in runs if run.n and run.record.goals == runs[0].record.goals]
    left = [run.label for run in runs if run not in same]
    note: list[Piece] = [f"Not shown, as they have no evaluations or other goals: {', '.join(left)}."] if left else []
    if not same:
        return [Section("Best so far", ["No evaluation yet.", *note])]
    if same[0].several:
        volumes = progress.hypervolumes(same)
        found = Section("Hypervolume so far", [volumes or "No feasible evaluation yet.", *note])
    else:
        found = Section("Best so far", [_thinning(same), progress.best(same), *note])
    sections = [found]
    if same[0].record.goals.constraints:
        sections.append(Section("Violation of constraints", [progress.violation(same)]))
    names = same[0].shown.space.names
    alike = [run for run in same if run.shown.space.names == names and run.modelled]
    if len(runs) > 1 and alike:
        sections.append(Section("Importance of parameters", [IMPORTANCE, parameters.importance(alike)]))
    return sections


def _thinning(runs: Sequence[LabelledRun]) -> str:
    most, largest = progress.MOST_DOTS, max(run.n for run in runs)
    if len(runs) > 1 or largest <= most:
        return "Drag to zoom, double-click to see all again, click a name in the legend to hide it."
    return f"{most} of {largest} evaluations are drawn as dots; the line has every improvement."


def _own(run: LabelledRun, among: int) -> list[Section]:
    """Return the sections of one run."""
    if not run.n:
        return [Section("Evaluations", ["This journal has no evaluations yet."])]
    return [
        Section("Points of the front" if run.several else "Best point", [tables.found(run) or NOTHING]),
        *([Section("Front", [_front(run)])] if run.several else []),
        *progress.intermediate_values(run),
        *metrics(run),
        *_parameters(run, among),
        *_regions(run),
        Section("Proposers", [tables.proposed(run)]),
        Section("Time", _time(run)),
        Section("Failures", [tables.failures(run) or "No evaluation failed."]),
        Section("Evaluations", tables.evaluations(run)),
    ]


def _front(run: LabelledRun) -> Piece:
    figures = progress.fronts(run)
    return figures[0] if len(figures) == 1 else Grid(figures)


def _parameters(run: LabelledRun, among: int) -> list[Section]:
    """Return the sections on the parameters, as far as there are enough evaluations."""
    encoded = (
        "" if run.shown.space.known else " Coordinates are encoded in [0, 1]: the journal does not hold the space."
    )
    if not run.modelled:
        few = f"Too few evaluations that differ: {MIN_VALUES} are needed for a model.{encoded}"
        if not np.isfinite(run.record.y).any():
            return [Section("Importance of parameters", [few])]
        lines = Section("Parallel coordinates", [_lines(run), parameters.parallel(run)])
        return [Section("Importance of parameters", [few]), Section("Slices", [Grid(parameters.slices(run))]), lines]
    fit = f"{fit_of(run.shown)}."
    bars: list[Piece] = [f"{importance_of(run.shown)}.{encoded}"]
    if among == 1:
        bars += [IMPORTANCE, parameters.importance([run])]
    shown = parameters.MOST_SLICES if among == 1 else parameters.FEW_SLICES
    return [
        Section("Importance of parameters", bars),
        Section("Slices", _slices(run, shown, fit)),
        Section("Contours", _contours(run, fit)),
        Section("Parallel coordinates", [_lines(run), parameters.parallel(run)]),
    ]


def _slices(run: LabelledRun, most: int, fit: str) -> list[Piece]:
    """Return the slices of each objective, as many in all as of a single one."""
    goals, order = run.record.goals.objectives[: parameters.MOST_GOALS], run.shown.order
    most = max(3, most // len(goals))
    some = f" The {most} parameters that matter most of {len(order)} are shown." if len(order) > most else ""
    thin = f" At most {parameters.MOST_DOTS} dots each." if run.n > parameters.MOST_DOTS else ""
    words = (
        "Each dot is an evaluation; the brighter, the later. Line and band: mean and standard deviation of the model"
    )
    words += f", the other parameters as at the best point. The worst values are cut off.{some}{thin} {fit}"
    return [words, *(Grid(parameters.slices(run, most, k)) for k in range(len(goals)))]


def _contours(run: LabelledRun, fit: str) -> list[Piece]:
    figures = parameters.contours(run)
    if not figures:
        return ["Contours need two parameters that are numbers."]
    return [f"{SURFACES} {fit}", Grid(figures)]


def _lines(run: LabelledRun) -> str:
    most, thin = parameters.MOST_LINES, ""
    if run.n > most:
        thin = f" The best {most // 2} of {run.n} evaluations are shown, and {most // 2} of the others."
    return f"Each line is an evaluation. Drag along an axis to keep the lines that cross it there.{thin}"


def _regions(run: LabelledRun) -> list[Section]:
    """Return what tells good from bad regions of the space: a table of the splits of a tree."""
    table = tree.splits(run)
    if table is None:
        least = run.tree.settings.least_rows(run.shown.x.shape[1])
        few = f"No split yet. The tree splits from {least} evaluations on, if good and bad ones lie apart."
        return [Section("Good and bad regions", [few])] if tree_used(run.record) else []
    words = (
        "A tree splits the evaluations into good and bad regions; a split is a boundary between two clusters of points "
        "and values. Rank: mean rank of the evaluations inside (1: best); visits: evaluations inside, and points being "
        f"evaluated. At most {tree.DEPTH} levels of splits are listed. The table has the parameters that each split "
        "depends on: the median on the good side against that on the bad side, and the share of evaluations that "
        "change sides when the values of that parameter are permuted."
    )
    return [Section("Good and bad regions", [words, table])]


def _time(run: LabelledRun) -> list[Piece]:
    table, figure = tables.times(run), progress.clock(run)
    pieces: list[Piece] = [table] if table else ["The journal does not hold the durations of evaluations."]
    return [*pieces, figure] if figure else pieces
