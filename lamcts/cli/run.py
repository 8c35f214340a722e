"""`lamcts run`: optimise an objective and write the best point, the policy and figures to a folder."""

import argparse
from collections.abc import Sequence
from typing import Any

from lamcts import objectives, pruners, samplers
from lamcts.cli.console import front_text, number, pairs, place_of, point_text, say
from lamcts.cli.evaluate import score_found
from lamcts.cli.outputs import Outputs
from lamcts.cli.parameters import fixed_of
from lamcts.cli.parser import Parser
from lamcts.cli.search import add_option, add_search_options, carry_out
from lamcts.cli.target import GOALS, add_against, target_of, with_cost
from lamcts.outcomes.goals import Goals
from lamcts.spaces.fixed import fixed
from lamcts.study.result import Result
from lamcts.types import Json

CHECK_EPISODES = 20  # held-out episodes of the best policy (untuned; benchmarks use as many)


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command, with the settings of the objective that `argv` names."""
    add_target(one)
    how = one.add_argument_group("search")
    add_option(how, "budget", " (default: chosen by the objective; 200 for your own)", type=int, metavar="N")
    how.add_argument("--sampler", default=samplers.AUTO, help="name of a sampler from `lamcts list` (default: auto)")
    add_option(how, "pruner", f": {', '.join(pruners.NAMES)}", metavar="NAME")
    out = add_search_options(one, how)
    line = f"evaluate the best policy on N held-out episodes (default: {CHECK_EPISODES})"
    out.add_argument("--check", type=int, default=CHECK_EPISODES, metavar="N", help=line)
    row = named_in(one, argv)
    add_against(how, row)
    add_settings(one, argv, row)


def add_target(one: Parser) -> None:
    """Add the options that name an objective."""
    line = "a name from `lamcts list`, such as ackley; gym:NAME; path/to/file.py:function, or package.module:function"
    one.add_argument("objective", nargs="?", help=line)
    _add_own_options(one)


def named_in(one: Parser, argv: Sequence[str]) -> objectives.Entry | None:
    """Return the entry of the objective of the package that a command line names, None where it names none."""
    words, maybe = one.positionals_in(argv)
    return next((row for word in [*words, *maybe] if (row := objectives.find(word)) is not None), None)


def add_settings(one: Parser, argv: Sequence[str], row: objectives.Entry | None, but: Sequence[str] = ()) -> None:
    """Add the settings of an objective as options, after all others, but for some."""
    one.set_defaults(registered=row is not None, against=None)
    if row is not None:
        one.add_settings(row, but)
        return
    one.add_argument("--dim", type=int, metavar="N", help="number of coordinates of --space LOW:HIGH")
    one.epilog = "The settings of an objective are options too: see `lamcts run NAME --help`."
    words, _ = one.positionals_in(argv)
    if words and ":" not in words[0]:
        one.takes = f"no objective is called {words[0]!r};"


def _add_own_options(one: Parser) -> None:
    """Add the options of a function or a program of the user."""
    own = one.add_argument_group("your own function or program")
    line = "run './train --lr {lr}', which prints a number; no shell is started"
    own.add_argument("--command", dest="template", metavar="WORDS", help=line)
    line = (
        "an input deck: a file in which {lr} is a place, and its name in the trial's folder, where the program starts"
    )
    own.add_argument("--template", dest="inputs", action="append", metavar="FILE:NAME", help=f"{line}; repeatable")
    line = "a parameter: lr=1e-5:1e-1:log, layers=1:8:int, act=relu,gelu, size=1,2,4:ordered, flag=bool; repeatable"
    own.add_argument("--param", action="append", metavar="NAME=RANGE", help=line)
    line = (
        "a .json or .toml file of parameters; LOW:HIGH, with --dim, for arrays (write --space=-5:10); or FILE.py:NAME"
    )
    own.add_argument("--space", metavar="FILE", help=line)
    own.add_argument("--maximize", action="store_true", default=None, help="maximise (default: minimise)")
    line = "a value to minimise, by its name in the printed or returned dict; -NAME: to maximise; repeatable"
    line += "; of a gait return, distance, progress, falls, speed or effort"
    own.add_argument("--objective", dest="objectives", action="append", metavar="NAME", help=line)
    line = "a constraint: 'stress<=250', 'gain>=2', 'gap==0+-1e-3'; repeatable"
    own.add_argument("--constraint", dest="constraints", action="append", metavar="TEXT", help=line)
    add_option(own, "reference", action="append", metavar="NAME=NUMBER")
    line = "intermediate values in the output of a program: 'epoch (?P<step>\\d+) loss (?P<value>\\S+)', or two groups"
    line += "; with several objectives a group for each, by name or in order"
    own.add_argument("--report", metavar="REGEX", help=line)
    add_option(own, "timeout", "; a program with its child processes", type=float, metavar="SECONDS")
    line = "the value in the output; of several NAME=REGEX (default: last number of the last line, or a JSON object)"
    own.add_argument("--pattern", action="append", metavar="REGEX", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.check < 0:
        raise ValueError(f"--check: expected a number of episodes of at least 0, got {args.check}; 0 leaves it out")
    target = with_cost(target_of(args), args)
    space, fix = target.objective.space, fixed_of(args.fix, target.objective.space)
    goals = Goals.of(False, *(getattr(target.objective, name, None) for name in GOALS))
    recommended = None if args.related else getattr(target.objective, "recommended_sampler", None)
    name = args.sampler if args.sampler != samplers.AUTO or recommended is None else recommended
    sampler = samplers.make(name, space if fix is None else fixed(space, fix), goals, args.related)
    return carry_out(args, target, {"sampler": sampler}, _report)


def _report(args: argparse.Namespace, objective: Any, outputs: Outputs, result: Result, found: Json) -> None:
    """Print the best value, and add the policy and its score on held-out episodes to what was found."""
    print_best(result, found, getattr(objective, "optimum", None))
    if not hasattr(objective, "policy"):
        say(f"point {point_text(found['best']['point'])}")
        return
    if "memory" in result:
        objective = objective.recalling(result.memory)
    found["policy"] = objective.policy(result.x)
    if args.check > 0:
        with outputs.part("score on held-out episodes"):
            found |= score_found(objective, result.x, args)


def print_best(result: Result, found: Json, optimum: float | None = None) -> None:
    """Print the best evaluation, or the front and its knee. optimum: the best value, where it is known."""
    best, front = found["best"], result.get("front")
    where = found_in(found)
    if front:
        say(f"front of {front_text(front)}")
        say(f"knee {pairs(best['value'])} {where}")
    elif front is None and result.success:
        note = f" ({result.fun_note})" if result.fun_note else ""
        say(f"best {number(best['value'])}{note} {where}")
        for line in _predicted(result, optimum):
            say(line)
    else:
        say(f"no feasible point; least infeasible {where}, violation {number(best['violation'])}")
    if "folder" in best:
        say(f"its folder {best['folder']}")


def found_in(found: Json) -> str:
    """Return the place of the best evaluation in words."""
    where = place_of(found["best"]["trial"])
    return where if found["best"]["trial"] is None else f"{where}, of {found['evaluations']} evaluations"


def _predicted(result: Result, optimum: float | None) -> list[str]:
    """Return lines on what the model expects: the best evaluation where values are noisy, and what is left to gain."""
    lines = []
    if (best := result.under_noise.get("best_predicted")) is not None:
        quality = f"leave-one-out R² {best.r2:.2f}, rank correlation {best.rank_correlation:.2f}"
        lines.append(f"best by the model {number(best.mean)} ± {number(best.std)}, trial {best.trial} ({quality})")
    if (gain := result.remaining_gain) is not None:
        most = gain.upper if optimum is None else min(gain.upper, abs(result.fun - optimum))
        trust = f"with 90 % probability; leave-one-out R² {gain.r2:.2f}"
        lines.append(f"left to gain by the model at most {most:.2g} ({trust})")
    return lines
