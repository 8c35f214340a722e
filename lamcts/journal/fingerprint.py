"""Whether two runs are the same: one may go on where the other stopped only if their fingerprints are equal."""

from typing import Any

import numpy as np

from lamcts.errors import JournalError
from lamcts.text import shortened


def compare(path: str, theirs: dict[str, Any], ours: dict[str, Any], where: str = "") -> None:
    """Raise JournalError naming the first field in which this run differs from the journal's."""
    ours = plain(ours)
    for name in {**theirs, **ours}:
        old, new = theirs.get(name), ours.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            compare(path, old, new, f"{where}{name}.")
        raise JournalError(
            f"the journal {path} is of another run: "
            f"{where}{name} is {shortened(repr(old))} there and {shortened(repr(new))} here; "
            "run with the settings of the journal, or give another path"
        )


def plain(value: Any) -> Any:
    """Return `value` as JSON values; what JSON does not know becomes its `repr`."""
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
