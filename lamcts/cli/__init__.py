"""The command `lamcts`: a command is a module of this folder or of a wing.

It has `add_options(parser, argv)` and `main(args)`, or `COMMANDS`, which are commands of its own. Mistakes of users are
one line on stderr and exit code 2.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from lamcts import __version__
from lamcts.utils import interrupts

with interrupts.imported():
    from lamcts.cli.console import ReaderLeft, complain, in_options, silence, warnings_as_lines
    from lamcts.cli.parser import MODULE, NAME, OPTIONS, SETTING, USER_MISTAKE, Parser, name_of
    from lamcts.errors import LamctsError
    from lamcts.text import safe_text
    from lamcts.utils.removed import hint
    from lamcts.utils.wings import Command, wings

INTERRUPTED = 130  # what shells report for a program ended by Ctrl-C
READER_LEFT = 141  # and for one whose reader has closed the pipe
COMMANDS = {
    "run": "optimise an objective; the same command again resumes a stopped run",
    "compare": "compare the default search with other optimizers on a function or program of your own",
    "list": "list objectives, samplers, pruners, peers and searches",
    "ask": "write a sheet of points to evaluate by hand, and keep a journal of them",
    "tell": "read a sheet of `lamcts ask` that was filled in",
    "show": "print the contents of a journal",
    "predict": "print what a model of all evaluations of a run expects at the points of a table",
    "plot": "plot the progress of a run, or compare several",
    "film": "film the policy that a run has found, without a screen: a strip of frames, and a GIF or MP4",
    "report": "write one HTML page about one or several runs",
    "serve": "show the report of a run in a browser while the run goes on",
    "export": "write a run into a storage of Optuna, which optuna-dashboard shows",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: that of the process) and return the exit code."""
    with interrupts.kept():
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    words = _joined(sys.argv[1:] if argv is None else argv)
    try:
        args = parser(words).parse_args(words)
    except SystemExit:  # after --help, too, the reader may have left
        silence()
        raise
    except BrokenPipeError:  # as older versions of argparse report it
        silence()
        return 0
    who = name_of(args)
    try:
        with warnings_as_lines(who, getattr(args, OPTIONS)):
            return int(import_module(getattr(args, MODULE)).main(args) or 0)  # None, as of sys.exit: all is well
    except ReaderLeft:
        silence()
        return READER_LEFT
    except KeyboardInterrupt:
        complain(who, "interrupted")
        return INTERRUPTED
    except (ValueError, LamctsError, OSError, MemoryError) as error:
        if args.traceback:
            raise
        what = "not enough memory, ask for less: " if isinstance(error, MemoryError) else ""
        complain(who, what + in_options(safe_text(error), getattr(args, OPTIONS)))
        return USER_MISTAKE


def _joined(argv: Sequence[str]) -> list[str]:
    """Return the words with `--objective -range` as one: argparse takes the minus for that of an option."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] == "--objective" and word.startswith("-") and not word.startswith("--"):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


def parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line; of the commands, only the one in `argv` is imported for its options."""
    root = Parser(prog="lamcts", description="Black-box optimisation of expensive functions.")
    root.add_argument("--version", action="version", version=f"lamcts {__version__}")
    _add_commands(root, _commands, argv)
    return root


def _add_commands(
    parent: Parser, commands: Callable[[str], Mapping[str, Command]], argv: Sequence[str], prefix: str = ""
) -> None:
    """Add commands to a parser; `commands` returns them for the word that was typed."""
    group = parent.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=Parser)
    chosen = next((i for i, word in enumerate(argv) if not word.startswith("-")), len(argv))
    typed = argv[chosen] if chosen < len(argv) else ""
    for name, (module, line) in commands(typed).items():
        parser = group.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.")
        if typed == name:
            parent.command = parser
            _add_options(parser, prefix + name, module, argv[chosen + 1 :])


def _commands(typed: str) -> dict[str, Command]:
    """Return the commands by name, with those of wings unless the command that was typed is another."""
    found = {name: Command(f"lamcts.cli.{name}", line) for name, line in COMMANDS.items()}
    return found if typed in found else found | {name: each for wing in wings() for name, each in wing.commands.items()}


def _add_options(one: Parser, name: str, module: str, argv: Sequence[str]) -> None:
    """Add the options of a command, and what its errors call them, or its own commands."""
    for word in argv:
        option = word.partition("=")[0]
        if cure := hint(f"lamcts {name}", option):
            one.error(f"expected no {option}, got one{cure}")
    found = import_module(module)
    if (commands := getattr(found, "COMMANDS", None)) is not None:
        if argv and argv[0].startswith("--") and argv[0] != "--help":
            one.error(f"expected one of {', '.join(commands)} before all options, got {argv[0]}")
        _add_commands(one, lambda _: commands, argv, f"{name} ")
        return
    one.add_argument("--traceback", action="store_true", help="print the traceback of an error")
    found.add_options(one, argv)
    options = {
        action.dest.removeprefix(SETTING): action.option_strings[0] for action in one._actions if action.option_strings
    }
    one.set_defaults(**{NAME: name, MODULE: module, OPTIONS: options})
