"""Whether two runs are the same: one may go on where the other stopped only if their fingerprints are equal."""

import numpy as np

from lamcts.errors import JournalError
from lamcts.journal.settings import difference
from lamcts.spaces.values import label
from lamcts.text import shortened
from lamcts.types import Json, JsonValue


def compare(path: str, theirs: Json, ours: Json) -> None:
    """Raise JournalError naming the first setting in which this run differs from the journal's."""
    if found := difference(theirs, plain(ours)):
        raise JournalError(
            f"the journal {path} is of another run: {found.name} is {shortened(found.theirs)} there and "
            f"{shortened(found.ours)} here; run with the settings of the journal, or give another path; "
            f"known={path!r} passes its evaluations to a new run"
        )


def plain(value: object) -> JsonValue:
    """Return `value` as JSON values; what JSON does not know becomes its label."""
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else label(value)
