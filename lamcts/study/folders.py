"""A folder for each configuration of a run, for checkpoints: `trial.folder`.

A configuration is a point, without its `Fidelity` if it has one. Its folder is numbered by its first trial.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Hashable
from pathlib import Path

from lamcts.observations import Observations
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis, configuration
from lamcts.trial import Trial

SUFFIX = ".folders"  # after the name of the journal


class TrialFolders:
    """The folders: next to the journal, which keeps them, or else temporary ones that `close` removes."""

    def __init__(self, space: SearchSpace, journal: str | os.PathLike[str] | None) -> None:
        self._axis = FidelityAxis.of(space)
        own = Path(tempfile.gettempdir()) / f"lamcts-{uuid.uuid4().hex}"
        self.root = own if journal is None else Path(os.path.abspath(journal) + SUFFIX)
        self._temporary = journal is None
        self._first: dict[Hashable, int] = {}  # configuration -> its first trial

    def load(self, seen: Observations) -> None:
        """Take the trials of an earlier session, told and pending."""
        told = [(number, x) for number, x in zip(seen.trial.tolist(), seen.x, strict=True) if number >= 0]
        for number, x in sorted([*told, *seen.pending.items()], key=lambda pair: pair[0]):
            self._first.setdefault(configuration(self._axis, x), number)

    def of(self, trial: Trial) -> Path:
        """Return the folder of a trial's configuration; it need not exist yet."""
        return self.root / str(self._first.setdefault(configuration(self._axis, trial.x), trial.id))

    def again(self, row: int, repeat: int) -> Path:
        """Return the folder of a re-evaluation, which is no continuation."""
        return self.root / f"again-{row}-{repeat}"

    def close(self) -> None:
        if self._temporary:
            shutil.rmtree(self.root, ignore_errors=True)
