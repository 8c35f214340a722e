"""Whether two runs are the same: one may go on where the other stopped only if their fingerprints are equal."""

import numpy as np

from lamcts.errors import JournalError
from lamcts.journal.settings import difference
from lamcts.spaces.values import label
from lamcts.text import SHOWN, shortened
from lamcts.types import Json, JsonValue

BEFORE = 20  # characters of a text that are quoted before the first difference (by eye)


def compare(path: str, theirs: Json, ours: Json) -> None:
    """Raise JournalError naming the first setting in which this run differs from the journal's."""
    if found := difference(theirs, plain(ours)):
        texts = (found.theirs, found.ours)
        first = next((i for i, (their, our) in enumerate(zip(*texts, strict=False)) if their != our), 0)
        skipped = max(0, first - BEFORE) if max(map(len, texts)) > SHOWN else 0
        there, here = (shortened("..." * bool(skipped) + text[skipped:]) for text in texts)
        raise JournalError(
            f"the journal {path} is of another run: {found.name} is {there} there and {here} here; run with the "
            f"settings of the journal, or give another path and pass known={path!r} for its evaluations"
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
