"""Is a budget kept, and are gradients those of eager steps? Networks and training loops as users write them.

    python -m benchmarks.neural.memory.own_networks [--networks gpt lstm ...] [--table]

Each network is planned in a process of its own, by `memory.fit` and by `fit_compiled`, within 0.75 times the memory of
an eager step. Then three steps of SGD run with and without the plan. Columns: whether weights, gradients and buffers
have equal bits afterwards (compiled: the largest relative difference of gradients after one step, without dropout,
whose masks differ), the memory of an eager step, the budget and the measured one in bytes; or "refused", with the
reason. Rows go to results/memory_own_networks.csv.
"""

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from benchmarks.harness import script
from benchmarks.harness.sheet import ROOT, Sheet
from benchmarks.harness.task import Result
from benchmarks.harness.versions import commit, versions
from benchmarks.neural.memory.networks import resnet, transformer
from benchmarks.tables.markdown import markdown
from lamcts.neural import memory

SHARE, STEPS = 0.75, 3
WAYS = ("fit", "fit_compiled")
Step = Callable[[Callable[..., Any], "Net", torch.optim.Optimizer], None]


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


COLUMNS = (*Case._fields, "gradients", "eager_bytes", "budget_bytes", "measured_bytes", "kept", "refused", "versions")


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


def _plain(call: Callable[..., Any], net: "Net", optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    net.loss(call(net.batch)).backward()
    optimizer.step()


def _scaled(call: Callable[..., Any], net: "Net", optimizer: torch.optim.Optimizer) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = net.loss(call(net.batch))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def _added(call: Callable[..., Any], net: "Net", optimizer: torch.optim.Optimizer) -> None:
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


def main() -> None:
    given = script.parser(__doc__, "memory_own_networks.csv", "one network")
    given.add_argument("--networks", nargs="*", default=list(NETWORKS), choices=list(NETWORKS), metavar="NAME")
    given.add_argument("--table", action="store_true", help="print the table of the rows that are there")
    script.many(given, "0")
    arguments = script.parsed(given, networks=["LSTM"])
    sheet = Sheet(arguments.out, Case._fields, COLUMNS)
    if not arguments.table:
        cases = [Case(*one) for one in product(arguments.networks, WAYS)]
        script.record(cases, sheet, "benchmarks.neural.memory.own_networks:measure", arguments.jobs)
    print(table(sheet.rows()))


def measure(**fields: Any) -> Result:
    """Return the row of a network."""
    case = Case(**fields)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    row: dict[str, Any] = case._asdict() | {"versions": f"commit {commit()} {versions(('lamcts', 'torch'))}"}
    net = NETWORKS[case.network]()
    for one in net.module.modules() if case.way != "fit" else ():
        if isinstance(one, nn.Dropout):  # a compiled one draws other masks
            one.p = 0.0
    plain = net._replace(module=copy.deepcopy(net.module))
    given: dict[str, Any] = {"loss": net.loss, "optimizer": "sgd", "accumulate": net.accumulate}
    try:
        with _cast(net):
            eager = memory.fit_compiled(net.module, net.batch, "1TiB", **given, backend="eager").measured_bytes or 0
            row |= {"eager_bytes": eager, "budget_bytes": int(SHARE * eager)}
            found = (memory.fit if case.way == "fit" else memory.fit_compiled)(
                net.module,
                net.batch,
                int(SHARE * eager),
                **given,
                **({} if case.way == "fit" else {"backend": "aot_eager"}),
            )
    except (ValueError, TypeError) as error:
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return row | {"refused": text.replace(f"{ROOT}/", "")}, None
    with found:
        row["gradients"] = compared(net, plain, found.model, case.way == "fit")
    size = found.measured_bytes
    return row | {"measured_bytes": size, "kept": size is not None and size <= SHARE * eager}, None


def compared(net: Net, plain: Net, call: Callable[..., Any], bits: bool) -> str:
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
        sizes = [f"{int(row[name]) / 2**20:.2f}" if row[name] else "" for name in COLUMNS[3:6]]
        lines.append((row["network"], row["way"], row["gradients"], *sizes, row["kept"] or row["refused"][:60]))
    return markdown(("network", "way", "gradients", "eager, MiB", "budget", "measured", "kept"), lines)


if __name__ == "__main__":
    main()
