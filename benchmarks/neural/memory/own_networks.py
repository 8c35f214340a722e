"""What do memory plans cost, are budgets kept, and are gradients those of eager steps?

    python -m benchmarks.neural.memory.own_networks [--networks gpt lstm ...] [--ways "fit 0.5" ...] [--table]

One thread, a process for each network and way. "checks" are networks and training loops as users write them, within
0.75 times the memory of an eager step. Three steps of SGD run with and without the plan: weights, gradients and buffers
have equal bits afterwards (compiled: the largest relative difference of gradients after one step, without dropout,
whose masks differ). `TIMED` networks are run in several ways:
- "eager", "compiled": ordinary steps, and `torch.compile` with all that the backward pass needs saved.
- "checkpoint", "selective": each child of the network in `torch.utils.checkpoint`, keeping nothing or products.
- "compiled B": `torch.compile` with `activation_memory_budget=B`.
- "fit S", "fit_compiled S": `memory.fit` and `fit_compiled` with the budget of S times all of an eager step.

Compiled steps use the backend "aot_eager": graphs as eager kernels, so that planning is compared and not fusion; with
--backend inductor the kernels are compiled.

Columns: bytes of an eager step, the budget and the measured peak, gradients included; or "refused", with the reason;
CPU milliseconds of a step (the least over rounds in which it takes turns with an eager one), of the eager one, and
their ratio. Rows go to results/memory_own_networks.csv.
"""

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from benchmarks.harness import script
from benchmarks.harness.sheet import ROOT, Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import commit, versions
from benchmarks.neural.memory.gpu_networks import checkpointed
from benchmarks.neural.memory.networks import residual, resnet, transformer
from benchmarks.tables.markdown import markdown
from lamcts.neural import memory
from lamcts.neural.memory.execution.measure import measured_peak

SHARE, STEPS = 0.75, 3
CHECKED = (f"fit {SHARE}", f"fit_compiled {SHARE}")
SHARES = (0.8, 0.7, 0.6, 0.5)
BUDGETS = (0.5, 0.3, 0.1)
WAYS = (
    "eager",
    "checkpoint",
    "selective",
    "compiled",
    *(f"compiled {budget}" for budget in BUDGETS),
    *(f"{way} {share}" for way, share in product(("fit", "fit_compiled"), SHARES)),
)
WARM, ROUNDS = 2, 10  # steps before the ones that count, and those
Call = Callable[..., Any]
Step = Callable[[Call, "Net", torch.optim.Optimizer], None]


class Net(NamedTuple):
    """A network with a batch: the loss, and what a training step does."""

    module: nn.Module
    batch: Any
    loss: Callable[[Any], Tensor]
    step: Step
    autocast: bool = False
    accumulate: bool = False


class Case(NamedTuple):
    """One row; its fields are its key."""

    network: str
    way: str
    backend: str


COLUMNS = (
    *Case._fields, "gradients", "eager_bytes", "budget_bytes", "measured_bytes", "kept", "refused",
    "milliseconds", "eager_milliseconds", "ratio", "versions",
)  # fmt: skip


class UNet(nn.Module):
    """Two levels with a skip, BatchNorm and ReLU in place."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = _convolved(3, 16), _convolved(16, 32)
        self.up, self.out = nn.ConvTranspose2d(32, 16, 2, 2), nn.Sequential(_convolved(32, 16), nn.Conv2d(16, 2, 1))

    def forward(self, x: Tensor) -> Tensor:
        high = self.down(x)
        low = self.up(self.deep(nn.functional.max_pool2d(high, 2)))
        return self.out(torch.cat([high, low], 1))


class Tied(nn.Module):
    """A language model whose words are its weights of the output, too."""

    def __init__(self) -> None:
        super().__init__()
        self.body = transformer(3, 64, 4, 32, dropout=0.1)
        self.body[-1].weight = self.body[0].weight

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)


class Views(nn.Module):
    """Views, Fourier transforms, own random numbers and a buffer that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(32, 64), nn.Linear(64, 32)
        self.drop = nn.AlphaDropout(0.1)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        y = self.a(x).view(-1, 8, 8).transpose(1, 2)
        y = torch.fft.irfft(torch.fft.rfft(y), n=8) * (torch.rand(8) + 0.5)
        return self.b(self.drop(torch.selu(y.reshape(-1, 64))))


class Squared(torch.autograd.Function):
    """A square with its own backward pass."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        (x,) = context.saved_tensors
        return 2 * x * gradient


class Own(nn.Module):
    """Layers with an own function between them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(6)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = Squared.apply(torch.tanh(layer(x)))
        return x


class Checkpointed(nn.Module):
    """Blocks that the model itself checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self.body = transformer(4, 64, 4, 32, dropout=0.0)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.body:
            x = checkpoint(block, x, use_reentrant=False) if x.is_floating_point() else block(x)
        return x


class Experts(nn.Module):
    """Each row goes to the expert that its values choose: operations depend on values."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(32, 4), nn.ModuleList([nn.Linear(32, 32) for _ in range(4)])

    def forward(self, x: Tensor) -> Tensor:
        chosen, out = self.gate(x).argmax(1), torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = chosen == i
            out[rows] = expert(x[rows])
        return out


def _convolved(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(inplace=True))


def _plain(call: Call, net: "Net", optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    net.loss(call(net.batch)).backward()
    optimizer.step()


def _scaled(call: Call, net: "Net", optimizer: torch.optim.Optimizer) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = net.loss(call(net.batch))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def _added(call: Call, net: "Net", optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    for _ in range(2):
        net.loss(call(net.batch)).backward()
    nn.utils.clip_grad_norm_(net.module.parameters(), 1.0)
    optimizer.step()


def _mean(out: Tensor) -> Tensor:
    return out.square().mean()


def _words() -> Tensor:
    return torch.randint(32, (4, 32))


def _images() -> Tensor:
    return torch.randn(4, 3, 32, 32)


NETWORKS: dict[str, Callable[[], Net]] = {
    "GPT, dropout, tied weights": lambda: Net(Tied(), _words(), _mean, _plain),
    "GPT, bfloat16 autocast, GradScaler": lambda: Net(Tied(), _words(), _mean, _scaled, autocast=True),
    "GPT, two steps added up, clipped": lambda: Net(Tied(), _words(), _mean, _added, accumulate=True),
    "U-Net, BatchNorm, ReLU in place": lambda: Net(UNet(), _images(), _mean, _plain),
    "ResNet, sums in place": lambda: Net(resnet((1, 1, 1), 8, 10), _images(), _mean, _plain),
    "ResNet, channels last": lambda: Net(
        resnet((1, 1, 1), 8, 10).to(memory_format=torch.channels_last),
        _images().to(memory_format=torch.channels_last),
        _mean,
        _plain,
    ),
    "views, FFT, random numbers, own buffer": lambda: Net(Views(), torch.randn(64, 32), _mean, _plain),
    "spectral_norm": lambda: Net(
        nn.Sequential(
            *(nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(64, 64)), nn.GELU()) for _ in range(6))
        ),
        torch.randn(128, 64),
        _mean,
        _plain,
    ),
    "DataParallel": lambda: Net(
        nn.DataParallel(nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(6)))),
        torch.randn(128, 64),
        _mean,
        _plain,
    ),
    "own autograd.Function": lambda: Net(Own(), torch.randn(128, 64), _mean, _plain),
    "checkpoints of its own": lambda: Net(Checkpointed(), _words(), _mean, _plain),
    "LSTM": lambda: Net(
        nn.LSTM(96, 96, 2, batch_first=True), torch.randn(8, 40, 96), lambda out: _mean(out[0]), _plain
    ),
    "mixture of experts": lambda: Net(Experts(), torch.randn(128, 32), _mean, _plain),
}
TIMED: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "gpt": lambda: (transformer(4, 192, 4, 256), torch.randint(256, (4, 128))),
    "resnet": lambda: (residual(24, 6, 10), torch.randn(8, 3, 32, 32)),
    "small": lambda: (transformer(4, 64, 4, 11), torch.randint(11, (4, 32))),  # where host time shows
}


def main() -> None:
    given = script.parser(__doc__, "memory_own_networks.csv", "two networks, two rounds")
    known = [*TIMED, *NETWORKS]
    given.add_argument("--networks", nargs="*", default=known, choices=known, metavar="NAME")
    given.add_argument("--ways", nargs="*", default=list(WAYS), choices=WAYS, metavar="NAME", help="of the timed")
    given.add_argument("--backend", default="aot_eager")
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there")
    script.many(given, "0")
    arguments = script.parsed(given, networks=["small", "LSTM"], ways=["checkpoint", "fit 0.8", "fit_compiled 0.8"])
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    if not arguments.table:
        cases = [
            Case(name, way, arguments.backend)
            for name in arguments.networks
            for way in (arguments.ways if name in TIMED else CHECKED)
        ]
        script.record(cases, sheet, "benchmarks.neural.memory.own_networks:measure", arguments.jobs)
    print(table(sheet.rows()))


def measure(**fields: Any) -> Result:
    """Return the row of a network and a way."""
    case = Case(**fields)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    row: dict[str, Any] = case._asdict() | {"versions": f"commit {commit()} {versions(('lamcts', 'torch'))}"}
    try:
        (timed if case.network in TIMED else checked)(case, row)
    except (ValueError, TypeError) as error:
        row["refused"] = f"{type(error).__name__}: {error}".splitlines()[0].replace(f"{ROOT}/", "")
    return row, None


def checked(case: Case, row: dict[str, Any]) -> None:
    """Add whether the budget is kept, and gradients are right, to the row of a network of a user."""
    net, compiled = NETWORKS[case.network](), case.way.startswith("fit_compiled")
    for one in net.module.modules() if compiled else ():
        if isinstance(one, nn.Dropout):  # a compiled one draws other masks
            one.p = 0.0
    plain = net._replace(module=copy.deepcopy(net.module))
    given: dict[str, Any] = {"loss": net.loss, "optimizer": "sgd", "accumulate": net.accumulate}
    fit = partial(memory.fit_compiled, backend=case.backend) if compiled else memory.fit
    with _cast(net):
        eager = memory.fit_compiled(net.module, net.batch, "1TiB", **given, backend="eager").measured_bytes or 0
        row |= {"eager_bytes": eager, "budget_bytes": int(SHARE * eager)}
        found = fit(net.module, net.batch, int(SHARE * eager), **given)
    with found:
        row["gradients"] = compared(net, plain, found.model, not compiled)
    row |= {"measured_bytes": found.measured_bytes, "kept": (found.measured_bytes or eager) <= SHARE * eager}


def timed(case: Case, row: dict[str, Any]) -> None:
    """Add the CPU time of a step, and its peak, to the row."""
    module, batch = TIMED[case.network]()
    plain = copy.deepcopy(module)
    with entered(case, module, batch) as call:
        took = [(seconds(module, call, batch), seconds(plain, plain, batch)) for _ in range(WARM + ROUNDS)][WARM:]
        row["measured_bytes"] = measured_peak(module, call, batch, None, added=False)
    mine, eager = (1e3 * min(one) for one in zip(*took, strict=True))
    row |= {"milliseconds": f"{mine:.2f}", "eager_milliseconds": f"{eager:.2f}", "ratio": f"{mine / eager:.3f}"}


@contextmanager
def entered(case: Case, module: nn.Module, batch: Tensor) -> Iterator[Call]:
    """Yield the callable of a way."""
    from torch._functorch import config

    way, _, number = case.way.partition(" ")
    if way in ("checkpoint", "selective"):
        assert isinstance(module, nn.Sequential)
        yield partial(checkpointed, module, way == "selective")
    elif way == "compiled":
        with config.patch(activation_memory_budget=float(number or 1)):
            yield torch.compile(module, backend=case.backend)
    elif way == "eager":
        yield module
    else:
        whole = memory.fit(module, batch, "1TiB", machine=memory.Machine())
        budget = int(float(number) * (whole.measured_bytes or 0))
        if way == "fit":
            with memory.fit(module, batch, budget):
                yield module
        else:
            yield memory.fit_compiled(module, batch, budget, backend=case.backend).model


def seconds(module: nn.Module, call: Call, batch: Tensor) -> float:
    """Return the CPU seconds of a step."""
    module.zero_grad()
    began = time.process_time()
    call(batch).sum().backward()
    return time.process_time() - began


def compared(net: Net, plain: Net, call: Call, bits: bool) -> str:
    """Train with and without the plan; return whether all bits are equal, or how far gradients are apart."""
    ends = []
    for one, by in ((net, call), (plain, plain.module)):
        optimizer = torch.optim.SGD(one.module.parameters(), 0.1)
        with torch.random.fork_rng():
            torch.manual_seed(1)
            for _ in range(STEPS if bits else 1):
                one.step(by, one, optimizer)
        gradients = [p.grad for p in one.module.parameters() if p.grad is not None]
        ends.append(([*one.module.parameters(), *one.module.buffers()], gradients))
    (state, mine), (other, eager) = ends
    if bits:
        pairs = [*zip(state, other, strict=True), *zip(mine, eager, strict=True)]
        return "equal" if all(torch.equal(a, b) for a, b in pairs) else "differ"
    pairs = [(a, b) for a, b in zip(mine, eager, strict=True) if b.abs().max() > 0]
    return f"{max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs):.1e}"


def _cast(net: Net) -> AbstractContextManager[Any]:
    return torch.autocast("cpu", torch.bfloat16) if net.autocast else nullcontext()


def table(rows: list[dict[str, str]]) -> str:
    """Return a line for each network and way."""
    lines = []
    for row in rows:
        sizes = [f"{int(row[name]) / 2**20:.2f}" if row[name] else "" for name in COLUMNS[4:7]]
        end = (row["kept"] or row["refused"][:60], row["ratio"])
        lines.append((row["network"], row["way"], row["backend"], row["gradients"], *sizes, *end))
    return markdown(
        ("network", "way", "backend", "gradients", "eager, MiB", "budget", "measured", "kept", "time to eager"), lines
    )


if __name__ == "__main__":
    main()
