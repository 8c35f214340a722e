"""Tasks for the callbacks of scikit-learn 1.9: the search is a task, and so is each of its batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Tasks:
    """The task of a search, below that of the call of `fit`; nothing where scikit-learn has no callbacks.

    owner: the search. root: what scikit-learn hands to it, None before 1.9.
    """

    def __init__(self, owner: Any, root: Any) -> None:
        self._owner, self._context = owner, root

    def __enter__(self) -> "Tasks":
        self._context = self._begun(self._context, task_name="search", max_subtasks=None)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self._end(self._context)

    @contextmanager
    def batch(self) -> Iterator[dict[str, Any]]:
        """Yield the keyword arguments that scikit-learn takes with the candidates of a batch."""
        own = self._begun(self._context, task_name="batch", max_subtasks=None, sequential_subtasks=False)
        yield {} if own is None else {"callback_ctx": own}
        self._end(own)

    def _begun(self, above: Any, **task: Any) -> Any:
        return None if above is None else above.subcontext(**task).call_on_fit_task_begin(estimator=self._owner)

    def _end(self, context: Any) -> None:
        if context is not None:
            context.call_on_fit_task_end(estimator=self._owner)
