"""The command `lamcts`: run, nas, memory, list, show, plot, film, report. Users' mistakes are one line, exit code 2."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from lamcts import __version__
from lamcts.argument_hints import OURS
from lamcts.cli.memory_options import memory_options
from lamcts.cli.screen import ReaderLeft, complain, hush, in_options
from lamcts.cli.table_options import table_options
from lamcts.cli.trained_options import trained_options
from lamcts.errors import LamctsError
from lamcts.text import safe_text

USER_MISTAKE = 2  # what argparse reports
INTERRUPTED = 130  # what shells report for a program ended by Ctrl-C
READER_LEFT = 141  # and for one ended because nobody reads what it writes
GIVE_UP = 10  # failures alike from the first on, after which a command line stops (untuned)
CHECK_EPISODES = 20  # that score the best policy again (untuned; benchmarks re-score by as many)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        words = [word.partition("=")[0].strip("-").replace("-", "_") for word in message.split()]
        meant = [f"--{OURS[word]}".replace("_", "-") for word in words[2:] if word in OURS]
        hint = f"did you mean {meant[0]}? " if meant and message.startswith("unrecognized arguments:") else ""
        complain(self.prog, f"{message} ({hint}see {self.prog} --help)")
        sys.exit(USER_MISTAKE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: that of the process) and return the exit code."""
    try:
        args = parser().parse_args(_joined(sys.argv[1:] if argv is None else argv))
    except SystemExit:  # after --help, too, the reader may have left
        hush()
        raise
    except BrokenPipeError:  # so older versions of argparse say it
        hush()
        return 0
    command: Callable[[argparse.Namespace], int] = args.command
    try:
        return command(args)
    except ReaderLeft:
        hush()
        return READER_LEFT
    except KeyboardInterrupt:
        complain(f"lamcts {args.name}", "interrupted")
        return INTERRUPTED
    except (ValueError, LamctsError, OSError, MemoryError) as error:
        if args.traceback:
            raise
        what = "not enough memory, ask for less: " if isinstance(error, MemoryError) else ""
        complain(f"lamcts {args.name}", what + in_options(safe_text(error), args.options))
        return USER_MISTAKE


def _joined(argv: Sequence[str]) -> list[str]:
    """Return the words with `--objective -range` as one: its minus is no option's."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] == "--objective" and word.startswith("-") and not word.startswith("--"):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    root = _Parser(prog="lamcts", description="Black-box optimisation of expensive functions.", allow_abbrev=False)
    root.add_argument("--version", action="version", version=f"lamcts {__version__}")
    commands = root.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)
    for add in (_run, _nas, _memory, _list, _show, _plot, _film, _report):
        one = add(commands)
        one.add_argument("--traceback", action="store_true", help="show where an error came from")
        options = {action.dest: action.option_strings[0] for action in one._actions if action.option_strings}
        one.set_defaults(name=one.prog.split()[-1], options=options)
    return root


def _run(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    line = "optimise an objective; the same command again goes on where it stopped"
    one = commands.add_parser("run", help=line, description=line + ".", allow_abbrev=False)
    what = "a name from `lamcts list`, such as ackley; gym:NAME; path/to/file.py:function, or package.module:function"
    one.add_argument("objective", nargs="?", help=what)
    of = one.add_argument_group("the objective (each takes those that `lamcts list` shows)")
    of.add_argument("--dim", type=int, help="number of coordinates")
    of.add_argument("--shift", type=_seed_or_word, metavar="SEED", help="move the optimum: a seed, or 'reference'")
    of.add_argument("--rotate", type=_seed_or_word, metavar="SEED", help="turn the axes: a seed, or 'reference'")
    line = "bend and stretch the axes, ripples uneven, the optimum anywhere"
    of.add_argument("--bend", type=int, metavar="SEED", help=line)
    of.add_argument("--initial-random", type=float, metavar="FORCE", help="the lander's push at the start")
    of.add_argument("--noise", type=float, help="standard deviation of noise on every value, or (rover, push) input")
    of.add_argument("--rollouts", type=int, help="episodes that an evaluation averages over")
    of.add_argument("--seeds", choices=("fresh", "fixed"), help="new start states in every evaluation, or the same")
    of.add_argument("--moments", metavar="FILE", help="standardise states: running, ars, or a file of mean and std")
    of.add_argument("--episode-steps", type=int, metavar="N", help="control steps after which an episode ends")
    line = "sizes of hidden layers, 8 or 16,16 (gym:NAME; default: a linear policy)"
    of.add_argument("--hidden", type=_sizes, metavar="N", help=line)
    _problems(of)
    table_options(one)
    own = one.add_argument_group("a function or a program of your own")
    line = "run './train --lr {lr}', which prints a number; text is a word of its own, {act} or --act={act}: no shell"
    own.add_argument("--command", dest="template", metavar="WORDS", help=line)
    line = "a parameter: lr=1e-5:1e-1:log, layers=1:8:int, act=relu,gelu, size=1,2,4:ordered, flag=bool; repeatable"
    own.add_argument("--param", action="append", metavar="NAME=RANGE", help=line)
    line = "a .json or .toml file of parameters; or LOW:HIGH, with --dim, for arrays (write --space=-5:10)"
    own.add_argument("--space", metavar="FILE", help=line)
    own.add_argument("--maximize", action="store_true", default=None, help="higher is better (default: lower)")
    line = "a name that it prints, or returns in a dict, to be as low as can be; -NAME: as high; repeatable"
    own.add_argument("--objective", dest="objectives", action="append", metavar="NAME", help=line)
    line = "what has to hold: 'stress<=250', 'gain>=2', 'gap==0+-1e-3'; repeatable"
    own.add_argument("--constraint", dest="constraints", action="append", metavar="WORDS", help=line)
    line = "where the front's hypervolume is measured from, for each objective"
    own.add_argument("--reference", action="append", metavar="NAME=NUMBER", help=line)
    line = "where a program's lines say how it is doing: 'epoch (?P<step>\\d+) loss (?P<value>\\S+)', or two groups"
    own.add_argument("--report", metavar="REGEX", help=line)
    line = "end an evaluation that takes longer; a program with all that it started, a function as `timeout=` does"
    own.add_argument("--timeout", type=float, metavar="SECONDS", help=line)
    line = "where the number is (default: the last on the last line); of several NAME=REGEX (default: a JSON object)"
    own.add_argument("--pattern", action="append", metavar="REGEX", help=line)
    how = one.add_argument_group("the search")
    how.add_argument("--budget", type=int, help="evaluations in all (default: as `lamcts list` shows; your own: 200)")
    how.add_argument("--sampler", default="auto", help="local search inside a region (default: auto)")
    how.add_argument("--no-tree", action="store_true", help="search the whole space with the sampler alone")
    line = "stop trials that report and are behind others: median, halving, hyperband or extrapolation"
    how.add_argument("--pruner", metavar="NAME", help=line)
    out = _course(one, how)
    line = "score the best policy on N new episodes"
    out.add_argument("--check", type=int, default=CHECK_EPISODES, metavar="N", help=line)
    one.set_defaults(command=_late("lamcts.cli.run", "run"))
    return one


def _course(one: _Parser, how: argparse._ArgumentGroup) -> argparse._ArgumentGroup:
    """Add what every search takes, and return the group of what is written."""
    how.add_argument("--seed", type=int, default=0, help="governs every draw (default: 0)")
    how.add_argument("--batch", type=int, default=1, help="points asked for at a time (default: 1)")
    how.add_argument(
        "--known", metavar="FILE", help="results that are there already: a CSV file as `show --csv` writes"
    )
    line = "a parameter that keeps one value, such as lr=0.1, or x2=0 of an array; repeatable"
    how.add_argument("--fix", action="append", metavar="NAME=VALUE", help=line)
    line = "values are noisy: a tenth of the budget evaluates the best points again, and means decide"
    how.add_argument("--noisy", action="store_true", help=line)
    line = "processes that evaluate, -1 for one a core; or 'threads' (default: 1)"
    how.add_argument("--workers", type=_number_or_threads, default=1, metavar="N", help=line)
    stop = one.add_argument_group("when to stop early")
    stop.add_argument("--target", type=float, help="stop at a value this good")
    stop.add_argument("--seconds", type=float, help="stop after this many seconds")
    stop.add_argument("--patience", type=int, help="stop after this many evaluations without a better value")
    line = "stop when the first N evaluations fail alike (default: 10; 0: never)"
    stop.add_argument("--give-up", type=int, default=GIVE_UP, metavar="N", help=line)
    out = one.add_argument_group("what is written")
    out.add_argument("--out", metavar="DIR", help="folder for all files (default: named after objective and seed)")
    out.add_argument("--journal", metavar="FILE", help="the record to go on from (default: DIR/journal.db)")
    out.add_argument("--no-plot", action="store_true", help="draw no figure")
    out.add_argument("--quiet", action="store_true", help="no progress")
    return out


def _nas(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    line = "search networks, by a published table or by training; the same command again goes on where it stopped"
    one = commands.add_parser("nas", help=line, description=line + ".", allow_abbrev=False)
    what = one.add_argument_group("the networks")
    what.add_argument("--space", required=True, metavar="NAME", help="nasbench101, nasbench201, nasbench-macro, ...")
    table_options(one)
    trained_options(one)
    how = one.add_argument_group("the search")
    line = "auto, lanas, lanas-published, alphax, evolution, local or random (default: auto)"
    how.add_argument("--search", default="auto", metavar="NAME", help=line)
    how.add_argument("--budget", type=int, help="evaluations in all (default: as `lamcts list` shows, 1000 for lanas)")
    line = "random networks to begin with (default: the search's own, for lanas 200, at most a fifth of the budget)"
    how.add_argument("--first", type=int, metavar="N", help=line)
    _course(one, how)
    one.set_defaults(command=_late("lamcts.cli.nas", "nas"), check=0, no_tree=False, timeout=None)
    return one


def _memory(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    line = "plan what a training step keeps, recomputes and offloads, within a budget of memory"
    one = commands.add_parser("memory", help=line, description=line + ".", allow_abbrev=False)
    memory_options(one)
    one.set_defaults(command=_late("lamcts.cli.memory", "memory"))
    return one


def _problems(of: "argparse._ArgumentGroup") -> None:
    of.add_argument("--funnels", type=int, metavar="N", help="how many funnels")
    of.add_argument("--rippled", action="store_true", default=None, help="ripples lie on the funnels")
    of.add_argument("--share", type=float, help="of the box that lies in the deepest funnel")
    of.add_argument("--permute", type=int, metavar="SEED", help="put the parameters in another order")
    of.add_argument("--continuous", action="store_true", default=None, help="the vessel's sheets have any thickness")
    of.add_argument("--constrained", action="store_true", default=None, help="the car's loads are constraints")
    of.add_argument("--objective-count", type=int, metavar="N", help="how many objectives (DTLZ)")
    of.add_argument("--network", metavar="NAME", help="whose training step's memory is planned: alexnet, resnet, ...")
    of.add_argument("--images", type=int, metavar="N", help="of a training step")
    of.add_argument("--within", metavar="SIZE", help="what the step's memory may be, such as 900MB")
    of.add_argument("--again", action="store_true", default=None, help="more may become of an activation")
    of.add_argument("--against", metavar="NAME", help="what a network costs: params, mflops, latency_s, ...")


def _list(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    line = "list objectives, samplers and searches, and what they need"
    one = commands.add_parser("list", help=line, description=line + ".", allow_abbrev=False)
    one.set_defaults(command=_late("lamcts.cli.look", "list_names"))
    return one


def _show(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    line = "say what a journal holds"
    one = commands.add_parser("show", help=line, description=line + ".", allow_abbrev=False)
    one.add_argument("journal", help="a journal, or the folder of a run")
    one.add_argument("--front", action="store_true", help="only the evaluations that none is better than, as a table")
    one.add_argument("--csv", action="store_true", help="all evaluations, or the front, as CSV with all digits")
    one.add_argument("--follow", action="store_true", help="new evaluations as they come, until the run ends")
    one.set_defaults(command=_late("lamcts.cli.look", "show"))
    return one


def _plot(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    line = "draw the course of a run, or compare several"
    one = commands.add_parser("plot", help=line, description=line + ".", allow_abbrev=False)
    line = "a journal, or the folder of a run; several are compared, those that differ in their seed alone as one"
    one.add_argument("journal", nargs="+", help=line)
    where = "where to, .png, .pdf or .svg (default: beside the journal; of several, comparison.png)"
    one.add_argument("--out", metavar="FILE", help=where)
    kinds = ("best", "front", "parallel", "hypervolume", "violation", "importance", "slice", "contour")
    one.add_argument("--kind", choices=kinds, help=f"{', '.join(kinds)} (default: what says most of the run)")
    one.set_defaults(command=_late("lamcts.cli.look", "plot"))
    return one


def _film(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    line = "film the policy that a run has found, without a screen: a strip of frames, and a GIF or MP4"
    one = commands.add_parser("film", help=line, description=line + ".", allow_abbrev=False)
    one.add_argument("run", help="the folder of a run, or its result.json")
    one.add_argument("--seconds", type=float, default=5.0, help="how long at most, in its own time (default: 5)")
    one.add_argument("--size", type=int, default=320, metavar="PIXELS", help="height of a frame (default: 320)")
    one.add_argument("--seed", type=int, default=0, help="of the start of the episode (default: 0)")
    one.add_argument("--frames", type=int, default=6, metavar="N", help="on the strip (default: 6)")
    line = "where to, .gif, or .mp4 with imageio-ffmpeg; the strip beside it, .png (default: film in the folder)"
    one.add_argument("--out", metavar="FILE", help=line)
    line = "import the module that the file names, and set its options: for a file of your own, since its code runs"
    one.add_argument("--trust", action="store_true", help=line)
    one.set_defaults(command=_late("lamcts.cli.film", "film"))
    return one


def _report(commands: "argparse._SubParsersAction[_Parser]") -> _Parser:
    line = "write one page on one or several runs, to look into in a browser"
    one = commands.add_parser("report", help=line, description=line + ".", allow_abbrev=False)
    one.add_argument("journal", nargs="+", help="a journal, or the folder of a run; several are compared")
    one.add_argument("--out", "-o", metavar="FILE", default="report.html", help="where to (default: report.html)")
    one.set_defaults(command=_late("lamcts.cli.report", "report"))
    return one


def _late(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """Return a command that is imported when it runs: `lamcts --help` loads nothing."""

    def command(args: argparse.Namespace) -> int:
        from importlib import import_module

        result: int = getattr(import_module(module), function)(args)
        return result

    return command


def _number_or_threads(text: str) -> int | str:
    try:
        return text if text == "threads" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number or 'threads', got {text!r}") from None


def _sizes(text: str) -> list[int]:
    try:
        return [int(size) for size in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected whole numbers such as 8 or 16,16, got {text!r}") from None


def _seed_or_word(text: str) -> int | str:
    if text == "reference":
        return text
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number or 'reference', got {text!r}") from None
