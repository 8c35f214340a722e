"""Saving and loading an optimizer: everything that goes on bit for bit after a restart, as JSON values and arrays."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lamcts.region import Region
from lamcts.rng import restore, save
from lamcts.trial import Trial

if TYPE_CHECKING:
    from lamcts.optimizer import Optimizer

FORMAT = 1
COLUMNS = ("x", "y", "seconds", "trial", "source")


class Snapshot:
    """The part of `Optimizer` that saves and loads. The tree is not saved: it is a function of what was seen."""

    def fingerprint(self: "Optimizer") -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        return {
            "format": FORMAT,
            "space": self.space.signature(),
            "maximise": self.maximise,
            "sampler": repr(self.sampler),
            "tree": repr(self.tree),
            "seed": self.seed,
            "design": self._design.signature(),
            "repeat": self.repeat,
        }

    def state_dict(self: "Optimizer") -> dict[str, Any]:
        """Return the whole state: JSON values, and numpy arrays under "columns" and in the pending points."""
        return {
            "format": FORMAT,
            "fingerprint": self.fingerprint(),
            "core": self._core(),
            "sessions": self._lineages.sessions(),
            "columns": {name: np.array(getattr(self.seen, name)) for name in COLUMNS},
            "failures": {str(row): message for row, message in self.failures.items()},
            "pending": [{"id": t.id, "x": np.array(t.x), "session": t.session, "tag": t.tag} for t in self.pending],
        }

    def changes(self: "Optimizer") -> dict[str, Any]:
        """Return what a journal must write beside new rows and trials, since the last call: small JSON values."""
        sessions, ended = self._lineages.changes()
        return {"core": self._core(), "sessions": sessions, "ended": ended}

    def load_state_dict(self: "Optimizer", state: dict[str, Any]) -> None:
        """Take over a state of an optimizer of equal settings; only a fresh optimizer can."""
        if len(self.seen) or self._next or self._designed:
            raise RuntimeError("load_state_dict: expected a fresh optimizer, this one was used; make a new one")
        check_fingerprint(state["fingerprint"], self.fingerprint())
        core, columns = state["core"], state["columns"]
        x = np.asarray(columns["x"], float).reshape(-1, self.space.dim)
        y, seconds = (np.asarray(columns[name], float) for name in ("y", "seconds"))
        trial, source = (np.asarray(columns[name], np.int64) for name in ("trial", "source"))
        self.seen.append(x, y, seconds, trial, source)
        self.failures.update({int(row): str(message) for row, message in state["failures"].items()})
        self._next, self._designed = int(core["next"]), int(core["designed"])
        for entry in state["pending"]:
            self._remember(int(entry["id"]), np.asarray(entry["x"], float), entry["session"], entry["tag"])
        late = set(trial[~np.isfinite(y)].tolist()) - set(trial[np.isfinite(y)].tolist()) - {-1}
        for row in np.flatnonzero(np.isin(trial, list(late))):
            point = self.space.decode(x[row])
            self._late[int(trial[row])] = Trial(int(trial[row]), point, x[row], session=int(source[row]))
        self._lineages.load(core["lineages"], state["sessions"], Region(self.space, (), self.seen.good))
        self._rng = restore(core["rng"])

    def _core(self: "Optimizer") -> dict[str, Any]:
        return {
            "next": self._next,
            "designed": self._designed,
            "rng": save(self._rng),
            "lineages": self._lineages.core(),
        }


def check_fingerprint(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Raise ValueError naming the first field in which a saved run differs from this one."""
    for name, value in ours.items():
        if theirs.get(name) != value:
            raise ValueError(
                f"{name} differs from the saved run's: expected {theirs.get(name)!r}, got {value!r}; "
                "use the settings of the saved run, or start a new one"
            )
