"""The outputs of a command, each written on its own: one that fails costs neither the result nor another output."""

import argparse
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lamcts.cli.console import ReaderLeft, complain, say
from lamcts.cli.parser import name_of
from lamcts.errors import LamctsError, MissingExtra
from lamcts.text import safe_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAILED = 1  # the exit code of a command whose result is printed, and that could not write an output that was asked for
FIGURES = (".png", ".pdf", ".svg")


def check_figure(option: str, path: str | None) -> None:
    """Raise ValueError, before anything is computed, for the name of a file that is no figure's."""
    if path is not None and Path(path).suffix not in FIGURES:
        raise ValueError(f"{option}: expected a name ending in .png, .pdf or .svg, got {path!r}")


def output_file(text: str) -> str:
    """Return the path of a file to write, as the type of an option; an error before anything is computed or changed."""
    try:
        if not os.path.lexists(text):
            open(text, "xb").close()
            os.unlink(text)
        elif os.path.isdir(text) or not os.access(text, os.W_OK):
            raise IsADirectoryError(0, "it is a folder, or must not be written")
    except OSError as error:
        cure = "make its folder first, or give another path"
        raise argparse.ArgumentTypeError(
            f"expected a file that can be written, got {text!r} ({error.strerror}): {cure}"
        ) from None
    return text


def output_folder(text: str) -> str:
    """Return the path of a folder to write to, as the type of an option; it need not exist yet."""
    try:
        place = Path(text).absolute()
        there = next(each for each in (place, *place.parents) if each.exists())
        fits = there.is_dir() and os.access(there, os.W_OK)
    except OSError:  # a name that is too long
        fits = False
    if not fits:
        raise argparse.ArgumentTypeError(f"expected a folder that can be written, got {text!r}: give another path")
    return text


class Outputs:
    """What a command has written so far, by name, and its exit code."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._who, self._traceback = name_of(args), args.traceback
        self.written: list[str] = []
        self.code = 0

    @contextmanager
    def part(self, name: str, code: int = FAILED) -> Iterator[None]:
        """Do a part of the command while entered; an error is one line on stderr, and `code` counts."""
        try:
            yield
        except ReaderLeft:
            raise
        except Exception as error:  # of the user's own code, of a library, of the disk: the other parts go on
            if self._traceback:
                traceback.print_exc()
            kind = "" if isinstance(error, (ValueError, LamctsError, OSError)) else f"{type(error).__name__}: "
            complain(self._who, f"no {name}: {kind}{safe_text(error)}")
            self.code = max(self.code, code)

    @contextmanager
    def file(self, name: str) -> Iterator[None]:
        """Write a file while entered, as a part."""
        with self.part(name):
            yield
            self.written.append(name)

    def figures(self, folder: Path, drawn: Mapping[str, Callable[[], "Figure | None"]]) -> None:
        """Write figures that no option asked for, None where there is nothing to draw: they leave the exit code."""
        missing: MissingExtra | None = None
        for name, draw in drawn.items():
            with self.part(name, code=0):
                try:
                    figure = draw()
                except MissingExtra as error:
                    missing, figure = error, None
                if figure is not None:
                    figure.savefig(folder / name)
                    self.written.append(name)
        if missing is not None:
            say(f"no figures: {missing}")

    def announce(self, folder: Path) -> None:
        """Print what was written to a folder."""
        say(f"written to {folder}{os.sep}: {', '.join(self.written) or 'nothing'}")
