"""The page: all sections of one or several runs in one HTML file that loads nothing from anywhere."""

from collections.abc import Sequence

from lamcts.report import boxes, course, effects, tables
from lamcts.report.curves import on_the_way
from lamcts.report.runs import Run
from lamcts.report.sheet import Figure, Grid, Piece, Section, Writer, plotly_js, text

MOST_RUNS = 6  # that have sections of their own; of more, only what compares them
STYLE = """
:root{color-scheme:light}*{box-sizing:border-box}
body{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;color:#1c2024;margin:0;background:#f6f7f9}
header,main{max-width:1180px;margin:0 auto;padding:0 16px}h1{font-size:1.5rem;margin:18px 0 2px}
h2{font-size:1.25rem;margin:4px 0 8px}h3{font-size:1.05rem;margin:4px 0 8px}p{margin:6px 0;color:#4a525c;max-width:80ch}
nav{position:sticky;top:0;background:#fffd;border-bottom:1px solid #dfe3e8;z-index:9;overflow-x:auto;white-space:nowrap}
nav div{max-width:1180px;margin:0 auto;padding:8px 16px}nav a{margin-right:16px;color:#0b5394;text-decoration:none}
section{background:#fff;border:1px solid #e3e6ea;border-radius:10px;padding:14px 16px;margin:14px 0}
section[id]{scroll-margin-top:46px}
section section{border-width:1px 0 0;border-radius:0;padding:14px 0 0}
.table,.figure{overflow-x:auto;max-width:100%}table{border-collapse:collapse;font-size:14px;margin:8px 0}
th,td{text-align:left;padding:4px 14px 4px 0;border-bottom:1px solid #eceef1;vertical-align:top;
overflow-wrap:break-word;max-width:46ch;min-width:5ch}
td{font-variant-numeric:tabular-nums}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,330px),1fr));gap:8px}
"""
# Nothing may be loaded, by nobody's mistake: browsers keep to this. Plotly draws parallel axes with code that it makes.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
# One button, that saves the picture; and where a finger points, it scrolls the page and does not zoom.
DRAW = """const touch=matchMedia('(pointer: coarse)').matches;
const config={responsive:true,displaylogo:false,displayModeBar:touch?false:'hover',modeBarButtons:[['toImage']]};
function draw(name,data,layout){if(touch)layout.dragmode=false;Plotly.newPlot(name,data,layout,config)}"""
IMPORTANCE = (
    "Measured by a random forest that learns the rank of each evaluation: how much of its R² on evaluations held out "
    "is lost when the values of one parameter are exchanged among them. Parameters that vary together share what they "
    "explain, and evaluations lie where the search went, so this tells of them and not of the whole space."
)


def page(runs: Sequence[Run]) -> str:
    """Return the HTML of a report on one or several runs. MissingExtra without Plotly; ValueError without runs."""
    if not runs:
        raise ValueError("report: expected at least one run, got none; give the path of a journal")
    script, writer = plotly_js(), Writer()
    first = [_overview(runs), *_compared(runs)]
    own = [(run, _own(run, len(runs))) for run in runs[:MOST_RUNS]]
    parts = [writer.section(section, 2, f"part{i}") for i, section in enumerate(first)]
    links = [(f"part{i}", section.title) for i, section in enumerate(first)]
    for k, (run, sections) in enumerate(own):
        inner = [writer.section(section, 3, f"run{k}-{i}") for i, section in enumerate(sections)]
        title = run.label if len(runs) > 1 else "This run"
        parts.append(f'<section id="run{k}"><h2>{text(title)}</h2>{"".join(inner)}</section>')
        links += [(f"run{k}", title)] if len(runs) > 1 else [(f"run{k}-{i}", s.title) for i, s in enumerate(sections)]
    title = f"lamcts: {', '.join(dict.fromkeys(run.title for run in runs))}"[:120]
    return _whole(title, links, parts, script)


def _whole(title: str, links: list[tuple[str, str]], parts: list[str], script: str) -> str:
    bar = "".join(f'<a href="#{text(name)}">{text(words)}</a>' for name, words in links)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title><link rel=icon href='data:,'><style>{STYLE}</style>\n"
        f"<script>{script}</script><script>{DRAW}</script></head>\n"
        f"<body><nav><div>{bar}</div></nav><header><h1>{text(title)}</h1></header><main>\n{''.join(parts)}\n"
        "</main></body></html>\n"
    )


def _overview(runs: Sequence[Run]) -> Section:
    section = Section("Overview", [tables.overview(runs)])
    if len(runs) > MOST_RUNS:
        section.pieces.append(f"Of {len(runs)} runs the first {MOST_RUNS} have sections of their own.")
    return section


def _compared(runs: Sequence[Run]) -> list[Section]:
    """Return the sections that have all runs that can be compared side by side: those with the first one's goals."""
    same = [run for run in runs if run.n and run.record.goals == runs[0].record.goals]
    left = [run.label for run in runs if run not in same]
    note: list[Piece] = [f"Not among them, without evaluations or with other goals: {', '.join(left)}."] if left else []
    if not same:
        return [Section("Best so far", ["No evaluation yet.", *note])]
    pieces: list[Piece] = [_thinning(same)]
    if same[0].several:
        volumes = course.hypervolumes(same)
        found = Section("Hypervolume so far", [volumes or "No feasible evaluation yet.", *note])
    else:
        found = Section("Best so far", [*pieces, course.best(same), *note])
    sections = [found]
    if same[0].record.goals.constraints:
        sections.append(Section("Violation of constraints", [course.violation(same)]))
    alike = [run for run in same if run.space.names == same[0].space.names and run.forest.ready]
    if len(runs) > 1 and alike:
        sections.append(Section("Importance of parameters", [IMPORTANCE, effects.importance(alike)]))
    return sections


def _thinning(runs: Sequence[Run]) -> str:
    most, largest = course.MOST_DOTS, max(run.n for run in runs)
    if len(runs) > 1 or largest <= most:
        return "Drag to zoom, double-click to see all again, click a name in the legend to hide it."
    return f"Of {largest} evaluations {most} dots are shown, evenly many; the line has every step."


def _own(run: Run, among: int) -> list[Section]:
    """Return the sections of one run."""
    if not run.n:
        return [Section("Evaluations", ["This journal has no evaluations yet."])]
    return [
        Section("Found", [tables.found(run) or "No evaluation has succeeded yet."]),
        *([Section("Front", [_front(run)])] if run.several else []),
        *on_the_way(run),
        *_parameters(run, among),
        Section("Tree", _tree(run)),
        Section("Who proposed what", [tables.proposed(run), _proposed(run)]),
        Section("Time", _time(run)),
        Section("Failures", [tables.failures(run) or "No evaluation failed."]),
    ]


def _front(run: Run) -> Piece:
    figures = course.fronts(run)
    return figures[0] if len(figures) == 1 else Grid(figures)


def _parameters(run: Run, among: int) -> list[Section]:
    """Return what the parameters do, as far as there are evaluations enough to tell."""
    encoded = "" if run.space.known else " Coordinates are shown as they are encoded, the journal does not say more."
    if not run.forest.ready:
        few = "Too few evaluations that differ to tell." + encoded
        figures: list[Piece] = [Grid(effects.slices(run))] if run.record.y[run.record.y == run.record.y].size else [few]
        return [Section("Importance of parameters", [few]), Section("Slices", figures)]
    score = run.forest.score
    trust = "" if score >= 0.2 else " That is little: do not trust the order."  # by eye
    explained = f"The forest explains {max(score, 0.0):.0%} of the variance held out.{trust}{encoded}"
    bars: list[Piece] = [explained]
    if among == 1:
        bars += [IMPORTANCE, effects.importance([run])]
    shown = effects.MOST_SLICES if among == 1 else effects.FEW_SLICES
    return [
        Section("Importance of parameters", bars),
        Section("Slices", _slices(run, shown)),
        Section("Contours", _contours(run)),
        Section("Parallel coordinates", [_lines(run), effects.parallel(run)]),
    ]


def _slices(run: Run, shown: int) -> list[Piece]:
    """Return the slices of each objective, as many in all as of a single one."""
    goals = run.record.goals.objectives[: effects.MOST_GOALS]
    shown = max(3, shown // len(goals))
    some = f" The {shown} that matter most of {len(run.order)}." if len(run.order) > shown else ""
    thin = f" At most {effects.MOST_DOTS} dots each." if run.n > effects.MOST_DOTS else ""
    words = f"Each evaluation against one parameter; the brighter, the later. Bad values are cut off.{some}{thin}"
    return [words, *(Grid(effects.slices(run, shown, k)) for k in range(len(goals)))]


def _contours(run: Run) -> list[Piece]:
    figures: list[Figure] = effects.contours(run)
    if not figures:
        return ["Contours need two parameters that are numbers."]
    return [
        f"What the forest expects over two parameters, averaged over the others: {effects.RANK}, 1 the best.",
        Grid(figures),
    ]


def _lines(run: Run) -> str:
    thin = f" Of {run.n} evaluations the best and some of the others." if run.n > effects.MOST_LINES else ""
    return f"Drag along an axis to keep the lines that pass there; drag its name to move it.{thin}"


def _tree(run: Run) -> list[Piece]:
    if run.tree is None:
        return ["This run has no tree, or one of parts that a journal cannot tell."]
    found = boxes.drawn(run)
    if found is None:
        return [
            f"The tree has no split. One is made from {2 * run.tree[0].leaf_size} evaluations on, where it tells good "
            "from bad among those that it has not seen."
        ]
    asked = "" if run.tree[0].chooses else "A map of what was seen: this run's searches do not ask it. "
    return [
        f"{asked}Good sides to the left; orange: what would be selected now. Rank: the mean rank inside, 1 the best; "
        f"visits: evaluations inside and points that are out. Down to {boxes.DEPTH} splits.",
        found[0],
        "What each split asks: the middle of the good side against that of the bad one, and the share of evaluations "
        "that change sides when the values of that parameter are exchanged among them.",
        found[1],
    ]


def _proposed(run: Run) -> str:
    placed = run.record.core.placements if run.record.core else {}
    said = ", ".join(f"{name} {count}" for name, count in placed.items() if count)
    return (
        "A journal knows which search proposed a point, and not which of the parts that a search is composed of. "
        + (f"Where batches were looked for: {said}." if said else "")
    )


def _time(run: Run) -> list[Piece]:
    table, figure = tables.times(run), course.clock(run)
    pieces: list[Piece] = [table] if table else ["The journal does not say how long evaluations took."]
    return [*pieces, figure] if figure else pieces
