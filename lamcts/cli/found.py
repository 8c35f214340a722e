"""What a run leaves in its folder: `result.json`, and figures."""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.cli.screen import complain, say
from lamcts.errors import MissingExtra
from lamcts.spaces.values import plain

if TYPE_CHECKING:
    from lamcts.study import Study

RESULT = "result.json"


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
        complain(f"lamcts {args.name}", f"no evaluation succeeded: {result.message}")
        return 1
    say(result.message + (f"; the tree {result.tree}" if result.tree else ""))
    values = np.asarray(result.history.values, float)
    leader = int(np.nanargmax(values) if study.problem.maximize else np.nanargmin(values))
    found = {**about, "seed": args.seed, "evaluations": result.nfev, "message": result.message}
    found["best"] = {"value": float(result.fun), "evaluation": leader + 1, "point": plain(result.x)}
    _write_json(folder / RESULT, report(result, found))
    written = [RESULT] + ([] if args.no_plot else _draw(study, result, values, folder, about))
    say(f"written to {folder}{os.sep}: {', '.join(written)}")
    return 0


def _draw(study: "Study", result: Any, values: Any, folder: Path, about: dict[str, Any]) -> list[str]:
    """Draw the course of the run, the tree, the partition where it is flat, and a network; return the files' names."""
    from lamcts import plot
    from lamcts.cli.look import figure_of

    objective: Any = study.problem.f
    try:
        course = figure_of(about, values, objective.maximize, study.settings.target)
    except MissingExtra as error:
        say(f"no figure: {error}")
        return []
    figures = {"reward.png" if about.get("episodes") else "best.png": course}
    if study.optimizer.tree is not None:
        figures["tree.png"] = plot.tree(study.optimizer)
        if objective.space.dim <= 2:
            # a grid of calls: only of what evaluates many at once, never of a program
            function = objective if hasattr(objective, "many") else None
            figures["partition.png"] = plot.partition(study.optimizer, function=function)
    if hasattr(objective, "architectures"):
        figures["network.png"] = plot.cells(objective.architectures, result.x)
    for name, figure in figures.items():
        figure.savefig(folder / name)
    return list(figures)


def _write_json(path: Path, values: dict[str, Any]) -> None:
    """Write all of it or nothing: a reader never meets half a file."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(values, indent=2) + "\n")
    part.replace(path)
