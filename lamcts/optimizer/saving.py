"""`Optimizer.save` and `load`: settings and state in one file, arrays and JSON in a zip (numpy's `.npz`). No pickle.

Parts that no file can hold, such as a sampler of the user's own, are named there and have to be given again. The
fingerprint in the state is compared with the settings, and the checksums of the zip protect every byte.
"""

import json
import math
import os
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lamcts import rng
from lamcts.optimizer import arguments, records
from lamcts.optimizer.design import Design
from lamcts.optimizer.exact import exact, exact_points
from lamcts.optimizer.losses import taken
from lamcts.optimizer.settings import from_identity, identity, is_ours
from lamcts.optimizer.state import Core, Delta, Mark, State, check_consistent
from lamcts.outcomes.metrics import storable
from lamcts.outcomes.observations import Columns
from lamcts.outcomes.related import RelatedTasks
from lamcts.samplers.base import Sampler
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.kinds import UnknownKind
from lamcts.spaces.regions.region import Region
from lamcts.spaces.serialization import from_json, from_signature, to_json
from lamcts.spaces.values import plain
from lamcts.types import Json, JsonValue, Point, whole_number
from lamcts.utils.files import FileKind, is_kind, kind_at

if TYPE_CHECKING:
    from lamcts.optimizer.optimizer import Optimizer

PARTS = ("space", "sampler")
SETTINGS = (*PARTS, "maximize", "seed", "repeat", "design")  # of a fingerprint, from which an optimizer is made
MAGIC = "lamcts optimizer"
COLUMN = "column "  # what the names of the arrays of rows begin with
NAMES = ("text", "pending", *(f"{COLUMN}{name}" for name in ("y", *Columns._fields)))
RATIO = 100  # of bytes unpacked to bytes of the file: more is refused (untuned: equal numbers reach 1,000)
FREE = 2**30  # bytes unpacked, up to which any ratio is taken (untuned: 1e6 rows of 100 coordinates)
FREE_TEXT = 2**26  # the same of the text, which takes up to 30 times as much in memory (untuned)


def state_of(opt: "Optimizer") -> State:
    """Return the whole state of an optimizer."""
    parts = dict(opt.failures), opt._trials.state(), opt._searches.states(), dict(opt.seen.predicted)
    notes = dict(opt.seen.exact), dict(opt.metrics), dict(opt.seen.sems)
    return State(opt.fingerprint(), core_of(opt), opt.seen.columns(), *parts, *notes)


def restore(opt: "Optimizer", state: State) -> None:
    """Load a state into a fresh optimizer; ValueError and a fresh optimizer if its parts refuse it."""
    if len(opt.seen) or opt._trials.issued or opt._designed:
        raise RuntimeError("expected a fresh optimizer, this one was used; make a new one")
    arguments.check_fingerprint(state.fingerprint, opt.fingerprint())
    check_consistent(state := state.widened(opt.space.dim), opt.design.n)
    try:
        load_into(opt, state)
    except BaseException as error:  # a user's sampler may raise anything
        opt._begin()
        if not isinstance(error, Exception):
            raise
        what = f"{type(error).__name__}: {error}"
        raise ValueError(
            f"state: expected what state_dict() returned, it cannot be taken over ({what}); {arguments.REUSE}"
        ) from error


def read_evaluations(path: str | os.PathLike[str], space: SearchSpace | None = None) -> "Optimizer":
    """Return an optimizer with the evaluations of a file alone, not its searches, whose version does not matter.

    space: that of the run, where the file cannot hold it.
    """
    from lamcts.optimizer.optimizer import Optimizer

    settings, saved = read(path)
    foreign = "space" in settings["foreign"] and space is not None  # else the file holds it
    parts: Json = {"sampler": "uniform"} | ({"space": space} if foreign else {})
    opt = Optimizer(**arguments_of(settings, parts))
    state = State.of(saved, opt.space.dim, *opt._widths).widened(opt.space.dim)
    _load_evaluations(opt, state)
    opt._trials.load(state.core.trials, state.out)
    return opt


def delta(opt: "Optimizer", since: Mark) -> Delta:
    """Return what is new since a mark, with the next mark."""
    new, pending = range(since.rows, len(opt.seen)), frozenset(opt._trials.pending)
    until = Mark(len(opt.seen), opt._trials.issued, pending, opt.seen.best, opt._searches.mark())
    return Delta(
        since=since,
        until=until,
        columns=opt.seen.columns(since.rows),
        failures={row: opt.failures[row] for row in new if row in opt.failures},
        issued=opt._trials.state(besides=since.pending),
        closed=sorted(since.pending - until.pending),
        searches=opt._searches.states(since),
        ended=sorted(since.known.keys() - opt._searches.live.keys()),
        core=core_of(opt),
        leaders=records.leaders(opt.space, opt.seen, since),
        proposers=opt._searches.named(new),
        predicted={row: opt.seen.predicted[row] for row in new if row in opt.seen.predicted},
        points={row: opt.seen.exact[row] for row in new if row in opt.seen.exact},
        metrics={row: opt.metrics[row] for row in new if row in opt.metrics},
        sems={row: opt.seen.sems[row] for row in new if row in opt.seen.sems},
    )


def core_of(opt: "Optimizer") -> Core:
    """Return the small state of an optimizer."""
    return Core(opt._trials.issued, opt._designed, rng.save(opt._rng), opt._searches.next, [*opt._searches.converged])


def load_into(opt: "Optimizer", state: State) -> None:
    """Load a state that was checked into a fresh optimizer."""
    core = state.core
    _load_evaluations(opt, state)
    opt._designed, opt._rng = core.designed, rng.restore(core.rng)
    opt._trials.load(core.trials, state.out)
    opt._searches.next, opt._searches.converged = core.searches, list(core.converged)
    opt._searches.load(state.searches, Region(opt.space, (), opt.seen.good), state.lost)


def _load_evaluations(opt: "Optimizer", state: State) -> None:
    opt.seen.append(*state.columns)
    opt.failures |= state.failures
    opt.metrics |= state.metrics
    opt.seen.predicted |= state.predicted
    opt.seen.sems |= state.sems
    opt.seen.exact |= exact_points(opt.space, opt.seen.x, state.points)


def corrected(
    opt: "Optimizer", trial: int, value: object, constraints: object, point: Point, metrics: object = None
) -> State:
    """Return the state in which a trial was told another value, without searches; ValueError as `tell` raises it."""
    rows = np.flatnonzero(opt.seen.trial == whole_number(trial, "correct: trial", least=0))
    if not len(rows):
        raise ValueError(f"correct: expected the number of a trial that was told, got {trial}; `rows()` has them")
    row, outcome = int(rows[-1]), taken([value], [constraints], opt.goals)
    state = state_of(opt)
    before, after = (
        dict(zip(opt.goals.names, opt.goals.signs * f, strict=True)) | opt.goals.measured(g)
        for f, g in ((opt.seen.f[row], opt.seen.g[row]), (outcome.f[0], outcome.g[0]))
    )
    changed = [name for name, number in before.items() if math.isfinite(number) and number != after[name]]
    former = {f"{name} before correction": float(before[name]) for name in changed}
    columns = deepcopy(state.columns)
    if point is not None:
        columns.x[row] = opt.space.encode(point)
        _put(state.points, row, exact(opt.space, columns.x[row], point))
    kind = opt._trials.by_fidelity(outcome, columns.x[row : row + 1]).kind[0]
    columns.f[row], columns.g[row], columns.kind[row] = outcome.f[0], outcome.g[0], kind
    _put(state.failures, row, outcome.messages[0])
    _put(state.predicted, row, outcome.predicted.get(0))
    _put(state.sems, row, outcome.sems.get(0))
    noted = storable(outcome.others[0], {}) | storable(metrics or {}, {})
    _put(state.metrics, row, former | opt.metrics.get(row, {}) | noted)
    return replace(state, columns=columns, searches={})


def _put(notes: dict[int, Any], row: int, new: Any) -> None:
    """Replace the note of a row, None or empty for none."""
    notes.pop(row, None)
    notes |= {} if new is None else {row: new}


# Settings ------------------------------------------------------------------------------------------------------------


def settings_of(space: SearchSpace, sampler: Sampler, design: Design, **rest: JsonValue) -> Json:
    """Return the settings; under "foreign" the text of those parts that no file can hold, which are None."""
    parts = {"space": to_json(space), "sampler": identity(sampler) if is_ours(sampler) else None}
    foreign = {name: repr(part) for name, part in (("space", space), ("sampler", sampler)) if parts[name] is None}
    points = [plain(design.exact.get(x.tobytes())) for x in design.given]
    return parts | rest | {"design": design.signature(), "points": points, "foreign": foreign}


def arguments_of(settings: Json, given: Json) -> Json:
    """Return what `Optimizer` takes but for the design, with `given` parts replacing those of the file.

    ValueError where a part is neither given nor in the file.
    """
    missing = [name for name in settings["foreign"] if name not in given]
    if missing:
        what = f"{missing[0]}: {settings['foreign'][missing[0]]} is none that a file can hold"
        raise ValueError(f"{what}; pass load(path, {missing[0]}=...)")
    make: dict[str, Callable[[Any], Any]] = {"space": from_json, "sampler": from_identity}
    try:
        parts = {name: given[name] if name in given else make[name](settings[name]) for name in PARTS}
    except UnknownKind:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"expected settings that this lamcts knows, got those of another version ({error}); {arguments.REUSE}"
        ) from None
    goals: Json = settings.get("goals", {})
    related = RelatedTasks.from_json(settings.get("related", ()))
    rest = {"related": related, "noisy": settings.get("noisy", 0.0)}
    return parts | {name: settings[name] for name in ("maximize", "seed", "repeat")} | goals | rest


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Return whether there is a journal at a path."""
    return is_kind(path, FileKind.JOURNAL)


def settings_of_journal(path: str | os.PathLike[str], given: Json) -> tuple[Json, Json]:
    """Return the settings of the optimizer of a journal, and its space and sampler, where they are not `given`.

    ValueError where the journal does not hold them.
    """
    from lamcts.journal import Journal
    from lamcts.journal.fingerprint import plain as plain_json

    record = Journal.read(path)
    known, parts = record.fingerprint, dict(given)
    design = known.get("design")
    if {*SETTINGS} - {*known} or not isinstance(design, dict) or {"kind", "n_init", "x0"} - {*design}:
        raise ValueError(f"expected the journal of an optimizer, got {os.fsdecode(path)}, which lacks its settings")
    with suppress(KeyError, TypeError, ValueError):
        parts.setdefault("sampler", from_identity(known["sampler"]))
    space = from_signature(known["space"], strict=True)
    if space is not None and plain_json(space.signature()) == known["space"]:  # else it has rules or keys
        parts.setdefault("space", space)
    for name in PARTS:
        if name not in parts:
            raise ValueError(
                f"{name}: expected the run's, since the journal {os.fsdecode(path)} does not hold it; "
                f"pass load(path, {name}=...), or make the optimizer as before, with journal="
            )
    settings = {name: known[name] for name in SETTINGS if name not in PARTS}
    settings |= {"points": (), "foreign": {}, "noisy": record.about.get("noisy", 0.0)}
    own = {name: held for name, held in known.items() if name == "objective"}
    return settings | {"goals": record.goals.arguments(), "own": own}, parts


def design_of(settings: Json, space: SearchSpace, centred: bool) -> Design:
    """Return the initial design, its x0 code by code: decoded and encoded again it might lose a last bit."""
    kind, n, x0 = (settings["design"][name] for name in ("kind", "n_init", "x0"))
    codes = [np.array(x, float) for x in x0]
    return Design(space, kind, n, codes, settings["seed"], centred=centred, points=settings["points"])


# The file ------------------------------------------------------------------------------------------------------------


def write(path: str | os.PathLike[str], settings: Json, state: State) -> None:
    """Write a file, whole or not at all: one of the same name is replaced once the new one is complete.

    UserWarning where `read` will need parts that no file can hold, such as a space with tuples as options.
    """
    place = Path(os.path.realpath(os.fsdecode(path)))  # a link stays one
    if place.is_dir():
        raise ValueError(f"save: expected the path of a file, got {os.fsdecode(path)!r}, which is a folder")
    content = state.to_dict()
    arrays = {f"{COLUMN}{name}": column for name, column in content["columns"].items()}
    arrays["pending"] = np.array([trial.pop("x") for trial in content["pending"]])
    try:
        text = json.dumps({"file": MAGIC, "settings": settings, "state": content | {"columns": None}})
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"save: expected states and notes of samplers that are JSON values, got others: {error}"
        ) from None
    arrays["text"] = np.frombuffer(text.encode(), np.uint8)
    draft = place.with_name(f"{place.name}-new-{os.getpid()}")
    try:
        with draft.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())  # before it takes the name: a power cut leaves the old one or the new one
        os.replace(draft, place)
    finally:
        draft.unlink(missing_ok=True)
    if foreign := list(settings["foreign"]):
        given = ", ".join(f"{name}=..." for name in foreign)
        text = f"save: the file does not hold the {' and the '.join(foreign)}; load it by Optimizer.load(path, {given})"
        warnings.warn(text, UserWarning, stacklevel=3)


def read(path: str | os.PathLike[str]) -> tuple[Json, Json]:
    """Return the settings and the state of a file; ValueError where it is no such file, or was damaged."""
    name = os.fsdecode(path)
    try:
        kind = kind_at(path, "the state", most=None)  # it grows with its run
        if kind not in (FileKind.STATE, FileKind.ZIP):
            raise ValueError(f"it is {kind}")
        with zipfile.ZipFile(path) as file:
            arrays = _arrays(file, os.path.getsize(path))
        text = json.loads(arrays["text"].tobytes())
        if text["file"] != MAGIC:
            raise ValueError(f"it is {text['file']!r}")
        state = text["state"]
        state["columns"] = {
            name.removeprefix(COLUMN): array for name, array in arrays.items() if name.startswith(COLUMN)
        }
        if len({len(column) for column in state["columns"].values()}) != 1:
            raise ValueError("expected columns of one length")
        for trial, x in zip(state["pending"], arrays["pending"], strict=True):
            trial["x"] = x
        return text["settings"], state
    except OSError as error:
        raise ValueError(f"{name}: expected a journal, or a file that Optimizer.save wrote: {error}") from error
    except Exception as error:  # whatever numpy, zipfile and zlib make of bytes that are no such file
        raise ValueError(
            f"{name}: expected a journal, or a file that Optimizer.save wrote, it is another or damaged ({error})"
        ) from error


def _arrays(file: zipfile.ZipFile, packed: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of a state from a file of `packed` bytes; what else is in it stays unread."""
    found = {name: file.getinfo(f"{name}.npy") for name in NAMES if f"{name}.npy" in file.namelist()}
    sizes = {name: info.file_size for name, info in found.items()}
    for free, size in ((FREE, sum(sizes.values())), (FREE_TEXT, sizes.get("text", 0))):
        if size > max(free, RATIO * packed):
            raise ValueError(f"expected at most {max(free, RATIO * packed)} bytes once unpacked, got {size}")
    arrays = {}
    for name, info in found.items():
        with file.open(info) as member:
            _check_header(member, info.file_size)
        with file.open(info) as member:
            arrays[name] = np.lib.format.read_array(member, allow_pickle=False)
            if member.read(1):  # the end is read too: the checksum is compared there
                raise ValueError(f"expected {name} to end with its array")
    return arrays


def _check_header(member: IO[bytes], size: int) -> None:
    """Raise ValueError where an array would need other bytes than are in the file."""
    version = np.lib.format.read_magic(member)
    if version != (1, 0):
        raise ValueError(f"expected an array of format 1.0, got {version}")
    shape, _, dtype = np.lib.format.read_array_header_1_0(member)
    if member.tell() + math.prod(shape) * dtype.itemsize != size and not dtype.hasobject:
        raise ValueError(f"expected {math.prod(shape)} numbers of {dtype}, got {size} bytes")
