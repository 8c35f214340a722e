"""The journal of an optimizer: its settings in the journal, resuming, `save` and `load`."""

import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lamcts.errors import JournalError
from lamcts.journal import Journal
from lamcts.journal.fingerprint import plain as plain_json
from lamcts.journal.lock import MEMORY
from lamcts.journal.settings import from_identity, is_ours
from lamcts.optimizer.design import Design
from lamcts.outcomes.goals import VALUE
from lamcts.outcomes.related import RelatedTasks
from lamcts.spaces.serialization import from_signature, to_json
from lamcts.spaces.values import plain
from lamcts.types import Json

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer

Made = TypeVar("Made", bound="Optimizer")
PARTS = ("space", "sampler")
ON_COMMAND_LINE = {"space": " (--space FILE.py:NAME on the command line)", "sampler": ""}
SETTINGS = ("maximize", "seed", "repeat")  # entries of a fingerprint that are arguments of an optimizer


def resume(
    path: str | os.PathLike[str],
    opt: "Optimizer",
    about: Json | None = None,
    objective: Json | None = None,
    held: bool = True,
) -> Journal:
    """Open the journal of a fresh optimizer, and restore its state; `objective` adds entries to the fingerprint."""
    _check_resumable(opt, "journal", "leave out the journal")
    journal = Journal.open(path, opt.fingerprint() | (objective or {}), (about or {}) | _about(opt), held)
    try:
        if journal.started:
            opt.restore(replace(journal.recorded().state, fingerprint=opt.fingerprint()))  # they were compared
    except BaseException as error:
        journal.close()
        if not isinstance(error, ValueError):
            raise
        raise JournalError(
            f"the journal {journal.path} holds a state that cannot be taken over ({error}); "
            "go back to a copy of it, or start a new one elsewhere"
        ) from error
    return journal


def save(opt: "Optimizer", path: str | os.PathLike[str]) -> Collection[str]:
    """Write a journal of an optimizer, or copy its journal; return the names of the parts that the file lacks."""
    _check_resumable(opt, "save", "keep the evaluations alone: opt.to_dataframe()")
    if opt._journal is not None:
        opt._journal.copy(path)
        fingerprint, about = opt.fingerprint(), opt._journal.recorded().about
    else:
        fingerprint, about = opt.fingerprint(), _about(opt)
        if from_signature(plain_json(fingerprint["space"])) is None and (space := to_json(opt.space)) is not None:
            about["space"] = space  # with tables, of which the signature has checksums
        with Journal.open(MEMORY, fingerprint, about) as journal:
            journal.write(opt.delta(journal.mark))
            journal.copy(path)
    parts = _parts_in(plain_json(fingerprint), about)
    return [name for name in PARTS if name not in parts]


def optimizer_of(kind: "type[Made]", path: str | os.PathLike[str], parts: Json) -> "Made":
    """Return the optimizer of a journal, which it goes on writing."""
    record, name = Journal.read(path), os.fsdecode(path)
    fingerprint, about = record.fingerprint, record.about
    design = fingerprint.get("design")
    if {*SETTINGS, *PARTS} - {*fingerprint} or not isinstance(design, dict) or {"kind", "n_init", "x0"} - {*design}:
        raise ValueError(f"expected the journal of an optimizer, got {name}, which lacks its settings")
    known_parts = _parts_in(fingerprint, about) | parts
    for part in PARTS:
        if part not in known_parts:
            raise ValueError(
                f"{part}: expected the run's, since the journal {name} does not hold it; "
                f"pass load(path, {part}=...){ON_COMMAND_LINE[part]}, or make the optimizer as before, with journal="
            )
    rest = {"noisy": about.get("noisy", 0.0), "related": RelatedTasks.from_json(about.get("related", ()))}
    opt = kind(
        **known_parts, **{setting: fingerprint[setting] for setting in SETTINGS}, **record.goals.arguments(), **rest
    )
    opt.design = Design(
        opt.space,
        design["kind"],
        design["n_init"],
        [np.array(x, float) for x in design["x0"]],  # code by code: decoded and encoded again, a last bit might be lost
        opt.seed,
        centred=opt.design.centred,
        points=about.get("x0", ()),
    )
    opt._begin()
    opt._record_in(path, {name: value for name, value in fingerprint.items() if name == "objective"})
    return opt


def _about(opt: "Optimizer") -> Json:
    """Return the settings of an optimizer that its fingerprint lacks, as JSON values."""
    goals = opt.goals
    points = [plain(opt.design.exact.get(x.tobytes())) for x in opt.design.given]
    about = {
        "noisy": opt.noisy,
        "objectives": list(goals.names) if goals.plain and goals.names != (VALUE,) else None,  # else it has the names
        "reference": None if goals.reference is None else list(goals.reference),
        "related": opt.related.to_json(),
        "x0": points if opt.design.exact else None,
        "foreign": not is_ours(opt.sampler),  # whose class may have the name of one of ours
    }
    return {name: value for name, value in about.items() if value}


def _parts_in(fingerprint: Json, about: Json) -> Json:
    """Return the space and the sampler of a run that its journal contains."""
    parts: Json = {}
    space = from_signature(about.get("space", fingerprint["space"]), strict=True)
    if space is not None and plain_json(space.signature()) == fingerprint["space"]:  # else it has rules or keys
        parts["space"] = space
    if "foreign" not in about:
        with suppress(KeyError, TypeError, ValueError):
            parts["sampler"] = from_identity(fingerprint["sampler"])
    return parts


def _check_resumable(opt: "Optimizer", what: str, otherwise: str) -> None:
    if not opt.sampler.resumable:
        raise ValueError(f"{what}: the sampler {opt.sampler!r} cannot be resumed; take another, or {otherwise}")
