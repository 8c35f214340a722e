"""A result from the journal of a run, without the function that was evaluated: `lamcts.load("run.db")`."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from lamcts.journal.settings import difference
from lamcts.optimizer.export import rows_of
from lamcts.optimizer.history import RunState
from lamcts.outcomes.observations import Observations
from lamcts.samplers.registry import name_of
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.box import Box
from lamcts.spaces.exact import exact_points
from lamcts.spaces.serialization import from_signature, of_points
from lamcts.study.result import Result
from lamcts.study.summary import summarise
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

JOURNAL = "journal.db"  # name in the folder of `lamcts run`


def load(path: str | os.PathLike[str], space: SearchSpace | None = None) -> Result:
    """Return what a run has found so far, from its journal.

    Parameters
    ----------
    path : str or path
        The journal, also one of `Optimizer.save`, or the folder that `lamcts run` wrote. The run may still be writing.
    space : Space, default None
        The space of the run; None takes it from the journal. A journal has tables of points (`Finite`) as a checksum,
        and then needs it. Of options that JSON cannot hold, such as functions, it has labels, which replace them.

    Returns
    -------
    Result
        As from `minimize`, with `space` and `about`. Its `status` is "loaded". Keys and rules of the space are missing.

    Raises
    ------
    ValueError
        If the journal does not hold the space, or `space` is not that of the run.
    JournalError
        If the file is no journal.

    Examples
    --------
    >>> import lamcts
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = f"{folder}/run.db"
    ...     made = lamcts.minimize(lambda x: x[0] ** 2, [(-1, 1)], budget=12, seed=0, journal=path)
    ...     lamcts.load(path).fun == made.fun
    True
    """
    from lamcts.journal import Journal

    record = Journal.read(journal_in(path))
    return result_of(record, space_of(record, space))


def result_of(record: "Recorded", space: SearchSpace) -> Result:
    """Return the result of a recorded run."""
    message = f"{record.n} evaluations, read from {record.path}"
    result = summarise(run_of(record, space), record.asks, "loaded", message, record.curves)
    result.update(space=space, about=record.about)
    if record.about.get("noisy") or record.about.get("declared_noisy"):
        result["noisy"] = True
    if isinstance(record.memory, dict):
        result["memory"] = record.memory.get("now" if "candidates" in result else "best")
    return result


def rows_of_run(record: "Recorded") -> tuple[list[Json], bool]:
    """Return the evaluations of a run as rows, and whether its journal contains the space."""
    try:
        return rows_of(result_of(record, space_of(record)).history, flat=True), True
    except ValueError:
        dim = max(record.x.shape[1], 1)
    rows = rows_of(result_of(record, Box(0, 1, dim=dim)).history)
    coordinates = {f"x{i + 1}": f"u{i + 1}" for i in range(dim)}
    return [{coordinates.get(name, name): value for name, value in row.items()} for row in rows], False


def sampler_name(recorded: str) -> str:
    """Return the name of a sampler from its record in a journal."""
    match = re.match(r"[A-Za-z_][\w ]*", recorded.strip("'"))
    return name_of(match[0]) or match[0] if match else "unknown"


def journal_in(path: str | os.PathLike[str]) -> Path:
    """Return the journal of a folder, or the path itself; ValueError for an invalid path."""
    from lamcts.journal.lock import named

    file = Path(named(path))
    return file / JOURNAL if file.is_dir() else file


def space_of(record: "Recorded", space: SearchSpace | None = None) -> SearchSpace:
    """Return the space of a run, as given or from its journal; ValueError if it is not the space of the run."""
    signature = record.fingerprint.get("space")
    if space is None:
        described = from_signature(record.about.get("space", signature), strict=True)
        if described is None or (record.n and described.dim != record.x.shape[1]):
            kind = signature.get("kind") if isinstance(signature, dict) else signature
            raise ValueError(
                f"space: expected the run's, since the journal {record.path} does not hold it (a {kind}): "
                "pass load(path, space=...)"
            )
        return described
    from lamcts.journal.fingerprint import plain

    if not hasattr(space, "signature") or difference(of_points(signature), of_points(plain(space.signature()))):
        raise ValueError(f"space: expected that of the run in {record.path}, got another one; leave it out, or look")
    return space


def run_of(record: "Recorded", space: SearchSpace) -> RunState:
    """Return the run of a journal."""
    goals = record.goals
    seen = Observations(space.dim, True, None, len(goals.objectives), len(goals.constraints))
    if record.n:
        seen.append(*record.columns)
        seen.sems |= record.sems
        seen.exact |= exact_points(space, seen.x, record.exact)
    seed = record.fingerprint.get("seed")
    return RunState(space, goals, seen, record.failures, record.metrics, seed if isinstance(seed, int) else 0)
