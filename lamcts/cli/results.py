"""The results of a run in its folder: `result.json`, `front.csv` and figures."""

import argparse
import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts import plot
from lamcts.cli.console import complain, say
from lamcts.cli.evaluate import RESULT
from lamcts.cli.evaluations import write_evaluations
from lamcts.cli.outputs import Outputs
from lamcts.cli.parser import name_of
from lamcts.cli.show import episodes_of, number_of, read, trial_folder
from lamcts.cli.target import without_cost
from lamcts.journal.recorded import FRONT as FRONT_ROWS
from lamcts.optimizer.export import json_values
from lamcts.plot.evaluations import evaluations_of
from lamcts.plot.grown_tree import grown_tree
from lamcts.spaces.values import plain
from lamcts.study.result import Result
from lamcts.text import shortened
from lamcts.types import Json, Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.plot.evaluations import Evaluations
    from lamcts.study import Study

FRONT = "front.csv"
PANELS = 4  # most objectives whose front is drawn in pairs; with more, by parallel axes (by eye)
EFFECTS: Mapping[str, Callable[..., "Figure"]] = {
    "importance": plot.importance,
    "slice": plot.slices,
    "contour": plot.contours,
    "parallel": plot.parameters,
}  # figures of the effects of the parameters


def write_results(
    args: argparse.Namespace,
    study: "Study",
    result: Result,
    folder: Path,
    about: Json,
    report: Callable[[Outputs, Result, Json], None],
) -> int:
    """Print what was found, write it to files, and return the exit code."""
    if result.x is None:
        cure = " (--give-up 0 disables this stop)" if result.status == "failing" else ""
        complain(name_of(args), f"no evaluation succeeded: {result.message}{cure}")
        return 1
    say(result.message)
    found = {**about, "seed": args.seed, "evaluations": result.nfev, "message": result.message}
    trial, journal = int(result.history.trial[_row(study, result)]), study.settings.journal
    found["best"] = {"value": result.fun, "trial": trial if trial >= 0 else None, "point": plain(result.x)}
    if journal is not None and (kept := trial_folder(journal, trial)):
        found["best"]["folder"] = kept
    if metrics := result.history.metrics.get(_row(study, result)):
        found["best"]["metrics"] = metrics
    if "candidates" in result:
        found["candidates"] = json_values(result.candidates)
    found |= {name: json_values(each._asdict()) for name, each in result.modelled.items()}
    found |= _columns(result, found["best"])
    outputs = Outputs(args)
    with outputs.part("report on the best point"):
        report(outputs, result, found)
    with outputs.file(RESULT):
        write_json(folder / RESULT, found)
    if "front" in result:
        with outputs.file(FRONT):
            if journal is None:
                result.front.to_csv(folder / FRONT)
            else:
                with open(folder / FRONT, "w", encoding="utf-8", newline="") as file:
                    write_evaluations([read(os.fspath(journal))], [], FRONT_ROWS, file)
    if not args.no_plot:
        with outputs.part("figures", code=0):
            outputs.figures(folder, _figures(study, result, about))
    outputs.announce(folder)
    return outputs.code


def _row(study: "Study", result: Result) -> int:
    """Return the row of the best point."""
    if study.problem.goals.plain:
        values = np.asarray(result.history.values, float)
        if "candidates" in result:
            return int(np.flatnonzero(values == result.candidates[0].first)[0])
        return int(np.nanargmax(values) if study.problem.maximize else np.nanargmin(values))
    return int(result.row)


def _columns(result: Result, best: Json) -> Json:
    """Add the constraints to the entry of the best point, and return the entries of the front."""
    for name in ("feasible", "violation", "constraints"):
        if name in result:
            best[name] = result[name]
    if "front" not in result:
        return {}
    rows = [{name: plain(value) for name, value in row.items()} for row in result.front.rows()]
    return {"front": rows, "reference": result.front.reference}


def _figures(study: "Study", result: Result, about: Json) -> dict[str, Callable[[], "Figure | None"]]:
    """Return what draws the figures of a run, of its tree if that decided anything, and of its best network."""
    objective: Any = study.problem.f
    shown = evaluations_of(result)
    figures: dict[str, Callable[[], Figure | None]] = {}
    for kind in kinds(shown):
        name = "reward" if kind == "best" and about.get("episodes") else kind
        figures[f"{name}.png"] = partial(figure_of, shown, about, kind, study.settings.target)
    if objective.space.dim <= 2 and plot.tree_used(study.optimizer) and _has_split(study):
        # contours take a grid of calls: cheap where many points are evaluated at once, never with episodes
        cheap = hasattr(objective, "many") and not hasattr(objective, "rollouts")
        function = objective if cheap and study.problem.goals.plain else None
        figures["partition.png"] = partial(plot.partition, study.optimizer, function=function)
    architectures = getattr(without_cost(objective), "architectures", None)
    if architectures is not None:
        figures["network.png"] = partial(_network, architectures, result.x)
    return figures


def _network(architectures: Any, point: Point) -> "Figure | None":
    """Return the figure of a network; None in a space that draws none."""
    return plot.cells(architectures, point) if architectures.graphs(point) else None


def _has_split(study: "Study") -> bool:
    root = grown_tree(study.optimizer).root
    return root is not None and root.split is not None


def write_json(path: Path, values: Json) -> None:
    """Write a file atomically."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(_numbers(values), indent=2) + "\n")
    part.replace(path)


def _numbers(value: object) -> object:
    """Return JSON values with None for nan."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_numbers(each) for each in value]
    return None if isinstance(value, float) and value != value else value


def kinds(run: "Evaluations") -> list[str]:
    """Return the kinds of figures that fit a run, the most informative first."""
    m, bounded = len(run.goals.objectives), ["violation"] if run.goals.constraints else []
    if m == 1:
        return [*bounded, *(["best"] if not bounded or run.feasible.any() else [])]
    fronts = ["front", "parallel"] if m > 2 else ["front"]
    return [*(fronts if m <= PANELS else fronts[1:]), "hypervolume", *bounded]


def figure_of(
    run: "Evaluations", about: Mapping[str, object], kind: str | None = None, target: float | None = None
) -> "Figure":
    """Return the figure of a kind (None: the most informative); ValueError if the run has no such figure."""
    kind, goals, name = kind or kinds(run)[0], run.goals, str(about.get("objective", ""))
    if kind not in kinds(run) and not (kind == "parallel" and len(goals.objectives) > 1):
        what = f"{len(goals.objectives)} objectives and {len(goals.constraints)} constraints"
        known = dict.fromkeys([*kinds(run), *["best"] * (len(goals.objectives) > 1), *EFFECTS])
        raise ValueError(f"--kind: expected one of {', '.join(known)} for {what}, got {kind!r}")
    if kind == "best":
        return _best(run, about, name, target)
    if kind == "violation":
        return plot.violation(run, title=_title(name, "feasibility"))
    if kind == "hypervolume":
        return plot.hypervolume(run, title=_title(name, "hypervolume"))
    draw = plot.front if kind == "front" else plot.parallel
    return draw(run, title=_title(name, "the front"))


def _best(run: "Evaluations", about: Mapping[str, object], name: str, target: float | None) -> "Figure":
    """Return reward against episodes for policies, else the best value so far."""
    episodes = episodes_of(about)
    if episodes is not None and run.maximize:
        words = {"name": shortened(name), "quantity": str(about.get("quantity", "return"))}
        return plot.reward(run, episodes=episodes, threshold=number_of(about.get("threshold")), **words)
    kept = " that is feasible" if run.goals.constraints else ""
    return plot.best_so_far(run, target=target, title=_title(name, f"best value{kept} so far"))


def _title(name: str, what: str) -> str:
    return f"{shortened(name)}: {what}" if name else what
