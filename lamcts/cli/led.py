"""Which lineage of a search found what: a line of `lamcts show`."""

import re
from typing import TYPE_CHECKING

from lamcts.cli.screen import evaluation_of, number

if TYPE_CHECKING:
    from lamcts.journal.recorded import Recorded

LINEAGE = re.compile(r"lineage (\d+): ")  # as `samplers.lineages` names them; the parts of the first bear no number
MOST_LED = 6  # lineages that are shown


def led_by(record: "Recorded") -> list[list[str]]:
    """Return what each lineage that led found, and how many never did; nothing of a search without lineages."""
    others = {row: int(of[1]) for row, name in record.proposers.items() if (of := LINEAGE.match(name))}
    if not others:
        return []
    led = {others.get(row, 1): row for row, _ in record.leaders}  # the last improvement of each
    said = [f"{k}: {number(record.values[row])}{_at(record, row)}" for k, row in sorted(led.items())]
    more = f"; {len(said) - MOST_LED} more" if len(said) > MOST_LED else ""
    vain = len({*others.values()} - {*led})
    return [["lineages", f"{', '.join(said[-MOST_LED:])}{more}" + (f"; {vain} never led" if vain else "")]]


def _at(record: "Recorded", row: int) -> str:
    evaluation = evaluation_of(record.trial, row)
    return "" if evaluation is None else f" at evaluation {evaluation}"
