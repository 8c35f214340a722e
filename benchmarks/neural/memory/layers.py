"""Memory plans of every layer of `torch.nn`, in float32, in bfloat16, under autocast, and some compiled.

python -m benchmarks.neural.memory.layers [--layers LSTM ...] [--table]

Each layer runs three training steps behind a linear layer: without a plan, under plans that recompute, offload or keep
all that they can, and under `memory.fit`; compiled ones under `memory.fit_compiled`. Outcomes: "works" (outputs,
gradients, buffers and the generator have equal bits), "differs", "refused", or "not in torch" where the plain step
raises, with the reason. Rows go to results/memory_layers.csv.
"""

import copy
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.versions import commit, versions
from benchmarks.neural.memory.layer_cases import CASES, Net
from benchmarks.tables.markdown import markdown
from lamcts.neural import memory
from lamcts.neural.memory import Action
from lamcts.neural.trace import trace

PRECISIONS = ("float32", "bfloat16", "autocast")
COMPILED = (
    *("Linear", "Conv2d", "ConvTranspose2d", "MaxPool2d", "BatchNorm2d", "LayerNorm", "LSTM", "MultiheadAttention"),
    *("Embedding", "GELU", "Dropout", "CrossEntropyLoss", "Upsample", "GaussianNLLLoss"),
)
KEY = ("layer", "precision")
COLUMNS = (*KEY, "family", "outcome", "reason", "versions")
STEPS = 3
WORKS, DIFFERS, REFUSED, NOT_IN_TORCH = "works", "differs", "refused", "not in torch"


class Outcome(NamedTuple):
    """What a layer does under plans, and why."""

    outcome: str
    reason: str = ""


def main() -> None:
    given = script.parser(__doc__, "memory_layers.csv", "two layers")
    given.add_argument("--layers", nargs="*", default=list(CASES), choices=list(CASES), metavar="NAME")
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there")
    arguments = script.parsed(given, layers=["Linear", "CTCLoss"])
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    torch.set_num_threads(1)
    keys = [(layer, precision) for layer in arguments.layers for precision in PRECISIONS]
    keys += [(layer, "compiled") for layer in arguments.layers if layer in COMPILED]
    for layer, precision in [] if arguments.table else sheet.missing(keys):
        row = {"layer": layer, "precision": precision, "family": CASES[layer].family}
        found = outcome(layer, precision)._asdict()
        sheet.record({**row, **found, "versions": f"commit {commit()} {versions(('lamcts', 'torch'))}"})
    print(table(sheet.rows()))


def outcome(layer: str, precision: str) -> Outcome:
    """Return what a layer does under plans in a precision, or "compiled" in float32."""
    with torch.random.fork_rng(), _cast(precision), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about layers that will go
        torch.manual_seed(0)
        net, batch = made(layer, precision)
        try:
            wanted = trained(copy.deepcopy(net), batch)
        except (RuntimeError, NotImplementedError) as error:
            return Outcome(NOT_IN_TORCH, _line(error))
        try:
            ways = _compiled if precision == "compiled" else _planned
            for way, found in ways(net, batch):
                if not same(wanted, found):
                    return Outcome(DIFFERS, way)
        except (ValueError, TypeError, RuntimeError) as error:
            return Outcome(REFUSED, _line(error))
    return Outcome(WORKS)


def made(layer: str, precision: str) -> tuple[nn.Module, tuple[Any, ...]]:
    """Return a network with a layer, and a batch."""
    case = CASES[layer]
    net = Net(case)
    batch = (*(() if case.shape is None else (torch.randn(*case.shape),)), *case.others())
    if layer.startswith("Lazy"):
        net(*batch)  # makes its parameters
    if precision == "bfloat16":
        net, batch = net.bfloat16(), tuple(one.bfloat16() if one.is_floating_point() else one for one in batch)
    return net, batch


def trained(net: nn.Module, batch: tuple[Any, ...], call: Callable[..., Tensor] | None = None) -> list[Tensor]:
    """Run training steps; return outputs, gradients, buffers and the next random number."""
    torch.manual_seed(1)
    found = []
    for _ in range(STEPS):
        net.zero_grad()
        out = (net if call is None else call)(*batch)
        loss(out).backward()  # type: ignore[no-untyped-call]
        found += [out.detach().clone(), *(one.grad.clone() for one in net.parameters() if one.grad is not None)]
    return [*found, *(one.clone() for one in net.buffers()), torch.rand(1)]


def loss(out: Tensor) -> Tensor:
    return out.float().square().mean()


def same(wanted: list[Tensor], found: list[Tensor]) -> bool:
    """Return whether tensors are equal, bit for bit; nan equals nan."""
    pairs = [(one.nan_to_num(7.0), other.nan_to_num(7.0)) for one, other in zip(wanted, found, strict=True)]
    return all(torch.equal(one, other) for one, other in pairs)


def _planned(net: nn.Module, batch: tuple[Any, ...]) -> Any:
    """Yield what is trained under each plan, and by `fit`."""
    traced = trace(net, batch, loss=loss)
    free = memory.Simulator(traced.graph).tables.recomputable
    for action in (Action.RECOMPUTE, Action.RECOMPUTE_EACH, Action.OFFLOAD, Action.KEEP):
        actions = tuple(action if some or action == Action.OFFLOAD else Action.KEEP for some in free)
        planned = copy.deepcopy(net)
        with memory.apply(planned, memory.Plan(actions), traced):
            yield action.word, trained(planned, batch)
    planned = copy.deepcopy(net)
    with memory.fit(planned, batch, "1GiB", loss=loss):
        yield "fit", trained(planned, batch)


def _compiled(net: nn.Module, batch: tuple[Any, ...]) -> Any:
    """Yield what is trained compiled, with the kernels of eager steps."""
    with memory.fit_compiled(net, batch, "1GiB", loss=loss, backend="aot_eager") as fitted:
        yield "fit_compiled", trained(net, batch, fitted.model)
    torch.compiler.reset()


def _cast(precision: str) -> AbstractContextManager[Any]:
    return torch.autocast("cpu", torch.bfloat16) if precision == "autocast" else nullcontext()


def _line(error: Exception) -> str:
    """Return the first line of an error, without folders."""
    text = str(error).splitlines()[0]
    return " ".join(word.rsplit("/", 1)[-1] if word.startswith("/") else word for word in text.split())


def table(rows: list[dict[str, str]]) -> str:
    """Return a line for each family of layers, with what does not work by its name."""
    lines = []
    for family in dict.fromkeys(row["family"] for row in rows):
        mine = [row for row in rows if row["family"] == family]
        cells = [_cell([row for row in mine if row["precision"] == one]) for one in (*PRECISIONS, "compiled")]
        lines.append((family, str(len({row["layer"] for row in mine})), *cells))
    return markdown(("layers", "cases", "float32", "bfloat16", "autocast", "compiled"), lines)


def _cell(rows: list[dict[str, str]]) -> str:
    cells = [WORKS] if any(row["outcome"] == WORKS for row in rows) else []
    for what in (DIFFERS, REFUSED, NOT_IN_TORCH):
        names = [_named(row["layer"]) for row in rows if row["outcome"] == what]
        cells += [f"{what}: {', '.join(names)}"] if names else []
    return "; ".join(cells)


def _named(layer: str) -> str:
    kind, _, variant = layer.partition(", ")
    return f"`{kind}`" + (f" ({variant})" if variant else "")


if __name__ == "__main__":
    main()
