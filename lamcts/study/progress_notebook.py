"""Progress in a notebook: tqdm's bar where tqdm and its widgets are installed."""

import sys
from importlib.util import find_spec
from typing import Any

from lamcts.study.result import Evaluation


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook: its streams are no terminal, and yet somebody looks."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def has_widgets() -> bool:
    """Return whether tqdm can draw its bar in a notebook."""
    return all(find_spec(name) is not None for name in ("tqdm", "ipywidgets"))


class Widget:
    """tqdm's bar. `counter` has the numbers, and what is said beside it."""

    def __init__(self, counter: Any) -> None:
        from tqdm.notebook import tqdm

        self._counter, self._bar = counter, tqdm(total=counter.budget, initial=counter.done)

    def update(self, evaluation: Evaluation) -> None:
        counter = self._counter
        counter.note(evaluation)
        self._bar.set_postfix_str(counter.found(), refresh=False)
        self._bar.update(evaluation.count - self._bar.n)

    def close(self) -> None:
        self._bar.close()
