"""What a run leaves in its folder: `result.json`, and figures."""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.cli.checked import RESULT
from lamcts.cli.pictures import Course, figure_of, kinds
from lamcts.cli.screen import complain, evaluation_of, say
from lamcts.errors import MissingExtra
from lamcts.spaces.values import plain
from lamcts.study.export import json_values

if TYPE_CHECKING:
    from lamcts.study import Study

FRONT = "front.csv"


def leave(
    args: argparse.Namespace,
    study: "Study",
    result: Any,
    folder: Path,
    about: dict[str, Any],
    report: Callable[[Any, dict[str, Any]], dict[str, Any]],
) -> int:
    """Say what was found, write it, draw it, and return the exit code.

    report: takes the result and what was found so far, says it, and returns all that is written.
    """
    if result.x is None:
        cure = " (--give-up 0 goes on)" if result.status == "failing" else ""
        complain(f"lamcts {args.name}", f"no evaluation succeeded: {result.message}{cure}")
        return 1
    tree = study.optimizer.tree
    say(result.message + (f"; the tree {result.tree}" if tree is not None and tree.chooses else ""))
    found = {**about, "seed": args.seed, "evaluations": result.nfev, "message": result.message}
    found["best"] = {
        "value": result.fun,
        "evaluation": evaluation_of(result.history.trial, _row(study, result)),
        "point": plain(result.x),
    }
    if "candidates" in result:
        found["candidates"] = json_values(result.candidates)
    found |= _columns(result, found["best"])
    _write_json(folder / RESULT, report(result, found))
    written = [RESULT]
    if "front" in result:
        result.front.to_csv(folder / FRONT)
        written.append(FRONT)
    written += [] if args.no_plot else _draw(study, result, folder, about)
    say(f"written to {folder}{os.sep}: {', '.join(written)}")
    return 0


def _row(study: "Study", result: Any) -> int:
    """Return the row that x was found in."""
    if study.problem.goals.plain:
        values = np.asarray(result.history.values, float)
        if "candidates" in result:
            return int(np.flatnonzero(values == result.candidates[0].first)[0])
        return int(np.nanargmax(values) if study.problem.maximize else np.nanargmin(values))
    return int(result.row)


def _columns(result: Any, best: dict[str, Any]) -> dict[str, Any]:
    """Add to what is said of the best what constraints say, and return what there is to say of the front."""
    for name in ("feasible", "violation", "constraints"):
        if name in result:
            best[name] = result[name]
    if "front" not in result:
        return {}
    rows = [{name: plain(value) for name, value in row.items()} for row in result.front.rows()]
    return {"front": rows, "reference": result.front.reference}


def _draw(study: "Study", result: Any, folder: Path, about: dict[str, Any]) -> list[str]:
    """Draw the course, the tree, its partition of a flat space, and a network; return the files' names."""
    from lamcts import plot

    objective: Any = study.problem.f
    goals = study.problem.goals
    reference = result.front.reference if "front" in result else None
    course = Course.of(about, result.history, reference, study.settings.target)
    figures: dict[str, Any] = {}
    try:
        for kind in kinds(course):
            name = "reward" if kind == "best" and about.get("episodes") else kind
            figures[f"{name}.png"] = figure_of(course, kind)
    except MissingExtra as error:
        say(f"no figure: {error}")
    if not figures:
        return []
    if plot.tree_used(study.optimizer):
        figures["tree.png"] = plot.tree(study.optimizer)
        if objective.space.dim <= 2:
            # a grid of calls: only of what evaluates many at once, never of a program or of episodes
            cheap = hasattr(objective, "many") and not hasattr(objective, "rollouts")
            function = objective if cheap and goals.plain else None
            figures["partition.png"] = plot.partition(study.optimizer, function=function)
    elif study.optimizer.tree is not None and study.optimizer.tree.chooses:
        say("no tree.png: the tree has not chosen where to search yet")
    if hasattr(objective, "architectures"):
        figures["network.png"] = plot.cells(objective.architectures, result.x)
    for name, figure in figures.items():
        figure.savefig(folder / name)
    return list(figures)


def _write_json(path: Path, values: dict[str, Any]) -> None:
    """Write all of it or nothing: a reader never meets half a file."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(_numbers(values), indent=2) + "\n")
    part.replace(path)


def _numbers(value: Any) -> Any:
    """Return JSON values with None in place of nan, which JSON has no number for."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_numbers(each) for each in value]
    return None if isinstance(value, float) and value != value else value
