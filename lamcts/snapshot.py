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


def fingerprint(opt: "Optimizer") -> dict[str, Any]:
    """Return what two runs must share for one to go on where the other stopped, as JSON values."""
    return {
        "format": FORMAT,
        "space": opt.space.signature(),
        "maximise": opt.maximise,
        "sampler": repr(opt.sampler),
        "tree": repr(opt.tree),
        "seed": opt.seed,
        "design": opt._design.signature(),
        "repeat": opt.repeat,
    }


def take(opt: "Optimizer") -> dict[str, Any]:
    """Return the whole state: JSON values, and numpy arrays under "columns" and in the pending points."""
    return {
        "format": FORMAT,
        "fingerprint": fingerprint(opt),
        "core": _core(opt),
        "sessions": opt._lineages.sessions(),
        "columns": {name: np.array(getattr(opt.seen, name)) for name in COLUMNS},
        "failures": {str(row): message for row, message in opt.failures.items()},
        "pending": [{"id": t.id, "x": np.array(t.x), "session": t.session, "tag": t.tag} for t in opt.pending],
    }


def changes(opt: "Optimizer") -> dict[str, Any]:
    """Return what a journal must write beside new rows and trials, since the last call: small JSON values."""
    sessions, ended = opt._lineages.changes()
    return {"core": _core(opt), "sessions": sessions, "ended": ended}


def load(opt: "Optimizer", state: dict[str, Any]) -> None:
    """Take over a state of an optimizer of equal settings; only a fresh optimizer can."""
    if len(opt.seen) or opt._next or opt._designed:
        raise RuntimeError("load_state_dict: expected a fresh optimizer, this one was used; make a new one")
    check_fingerprint(state["fingerprint"], fingerprint(opt))
    core, columns = state["core"], state["columns"]
    x = np.asarray(columns["x"], float).reshape(-1, opt.space.dim)
    y, seconds = (np.asarray(columns[name], float) for name in ("y", "seconds"))
    trial, source = (np.asarray(columns[name], np.int64) for name in ("trial", "source"))
    opt.seen.append(x, y, seconds, trial, source)
    opt.failures.update({int(row): str(message) for row, message in state["failures"].items()})
    opt._next, opt._designed = int(core["next"]), int(core["designed"])
    for entry in state["pending"]:
        opt._remember(int(entry["id"]), np.asarray(entry["x"], float), entry["session"], entry["tag"])
    late = set(trial[~np.isfinite(y)].tolist()) - set(trial[np.isfinite(y)].tolist()) - {-1}
    for row in np.flatnonzero(np.isin(trial, list(late))):
        point = opt.space.decode(x[row])
        opt._late[int(trial[row])] = Trial(int(trial[row]), point, x[row], session=int(source[row]))
    opt._lineages.load(core["lineages"], state["sessions"], Region(opt.space, (), opt.seen.good))
    opt._rng = restore(core["rng"])


def _core(opt: "Optimizer") -> dict[str, Any]:
    return {
        "next": opt._next,
        "designed": opt._designed,
        "rng": save(opt._rng),
        "lineages": opt._lineages.core(),
    }


def check_fingerprint(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Raise ValueError naming the first field in which a saved run differs from this one."""
    for name, value in ours.items():
        if theirs.get(name) != value:
            raise ValueError(
                f"{name} differs from the saved run's: expected {theirs.get(name)!r}, got {value!r}; "
                "use the settings of the saved run, or start a new one"
            )
