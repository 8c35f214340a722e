"""`lamcts nas`: search a table of networks, and leave the best one, its picture and the record in a folder."""

import argparse
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts import objectives, samplers
from lamcts.cli.given import Given
from lamcts.cli.run import RESULT, carry_out, draw, write_json
from lamcts.cli.screen import complain, number, say, table
from lamcts.errors import MissingExtra
from lamcts.spaces.values import plain

if TYPE_CHECKING:
    from lamcts.spaces.base import Space
    from lamcts.study import Study

PICTURE = "network.png"
FIRST_SHARE = 5  # evaluations of a first run, at least, for each random one that a search begins with (untuned)
SETTINGS = ("dataset", "guide")  # of tables, as options, besides the place of the table itself


def nas(args: argparse.Namespace) -> int:
    names = [
        name for name, row in objectives.names().items() if row.build.__module__.startswith("lamcts.nas.published")
    ]
    row = objectives.entry(_one_of("--space", args.space, names))
    settings = {name: value for name in SETTINGS if (value := getattr(args, name)) is not None}
    for name in settings.keys() - row.settings.keys():
        raise ValueError(f"--{name}: expected none, as {row.name} has one only, got {settings[name]!r}: leave it out")
    make = SEARCHES[_one_of("--search", args.search, list(SEARCHES))]
    objective = objectives.make(row.name, table=args.table, **settings)
    args.sampler = args.search  # what the folder is named after
    how = make(objective.space)
    given = Given(objective, row.name, row.name, settings, max(row.budget, FIRST_SHARE * how.get("n_init", 0)))
    if "n_init" in how and args.budget is not None and args.budget <= how["n_init"]:
        got = f"the {how['n_init']} random networks that {args.search} begins with, got {args.budget}"
        raise ValueError(f"--budget: expected more than {got}: raise it, or leave it out")
    return carry_out(args, given, how, _finish)


def _one_of(option: str, name: str, known: list[str]) -> str:
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{option}: expected one of {', '.join(known)}, got {name!r}{hint}")
    return name


def _auto(space: "Space") -> dict[str, Any]:
    return {"sampler": samplers.make(samplers.AUTO, space), "tree": "auto"}


def _lanas(variant: str) -> Callable[["Space"], dict[str, Any]]:
    def settings(space: "Space") -> dict[str, Any]:
        made: dict[str, Any] = getattr(import_module("lamcts.searches.lanas"), variant)()
        return made

    return settings


def _alphax(space: "Space") -> dict[str, Any]:
    return {"sampler": import_module("lamcts.searches.alphax").AlphaX(), "tree": None}


def _alone(name: str) -> Callable[["Space"], dict[str, Any]]:
    """Return the settings of a sampler that searches the whole space, without a tree."""
    return lambda space: {"sampler": samplers.make(name, space), "tree": None}


SEARCHES: dict[str, Callable[["Space"], dict[str, Any]]] = {
    samplers.AUTO: _auto,
    "lanas": _lanas("improved"),
    "lanas-published": _lanas("published"),
    "alphax": _alphax,
    "evolution": _alone("mutate"),
    "local": _alone("hillclimb"),
    "random": _alone("uniform"),
}


def _finish(
    args: argparse.Namespace, objective: Any, study: "Study", result: Any, folder: Path, about: dict[str, Any]
) -> int:
    """Write what was found, say it, and return the exit code."""
    if result.x is None:
        complain("lamcts nas", f"no evaluation succeeded: {result.message}")
        return 1
    say(result.message + (f"; the tree {result.tree}" if result.tree else ""))
    values = np.asarray(result.history.values, float)
    leader = int(np.nanargmax(values)) + 1
    found = {**about, "search": args.search, "seed": args.seed, "evaluations": result.nfev, "message": result.message}
    found["best"] = {"value": float(result.fun), "evaluation": leader, "point": plain(result.x)}
    found["best"] |= {"text": objective.architectures.text(result.x), "optimum": objective.optimum}
    found |= {"reported": objective.report(result.x), "also": objective.also(result.x)}
    _say(found)
    write_json(folder / RESULT, plain_numbers(found))
    written = [RESULT]
    if not args.no_plot:
        written += draw(study, objective, values, folder, about) + _picture(objective, result.x, folder)
    say(f"written to {folder}: {', '.join(written)}")
    return 0


def plain_numbers(found: dict[str, Any]) -> dict[str, Any]:
    """Return what was found with None in place of what the table does not know, which JSON has no number for."""
    known = {name: None if np.isnan(value) else value for name, value in found["also"].items()}
    return found | {"also": known}


def _say(found: dict[str, Any]) -> None:
    best = found["best"]
    of = f"at evaluation {best['evaluation']} of {found['evaluations']}; the table's best is {number(best['optimum'])}"
    rows = [["network", best["text"]], ["searched", f"{number(best['value'])} {of}"]]
    rows += [[name, number(value)] for name, value in found["reported"].items()]
    table(rows + [[name, number(value)] for name, value in found["also"].items() if not np.isnan(value)])


def _picture(objective: Any, point: Any, folder: Path) -> list[str]:
    """Draw the best network; return the name of the file, none where the extra is not there: `draw` has said so."""
    from lamcts import plot

    try:
        plot.cells(objective.architectures, point).savefig(folder / PICTURE)
    except MissingExtra:
        return []
    return [PICTURE]
