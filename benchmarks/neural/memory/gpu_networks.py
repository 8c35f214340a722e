"""Networks of the GPU check, and ways to run their training steps: GPT, U-Net, LSTM, and those of `networks.py`."""

import gc
import math
import os
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from benchmarks.harness.task import Row
from benchmarks.neural.memory.networks import FULL, SMALL, Block, convolved, resnet
from lamcts.movement.sizes import size_of
from lamcts.neural import memory
from lamcts.neural.memory.timing import restored
from lamcts.neural.trace import Trace, trace

BATCHES = {"gpt-bf16": 16, "gpt-fp32": 16, "resnet": 96, "unet": 8, "lstm": 64}
BATCHES |= {"alexnet": 512, "resnet50": 128, "resnet152": 64, "densenet121": 64, "transformer12": 8}
NAMES = list(dict.fromkeys([*BATCHES, *FULL]))
SMALL_BATCH = 8
BFLOAT16 = ("gpt-bf16", "unet")  # networks that compute under autocast
NOT_SEQUENTIAL = ("unet", "lstm")  # networks without blocks to checkpoint
WARM = 2  # warm-up steps: kernels are loaded, graphs compiled, memory is pinned
TIMED = 5
OVER_NOISE = 3.0  # times the difference of two eager steps: more is an error of the plan
SLACK = 1.01  # over the smallest budget of an error message, which is rounded
DEAR = ("convolution", "mm", "addmm", "bmm")  # operations whose results selective checkpointing keeps, and attention
Run = Callable[[Tensor], Any]


class GptBlock(Block):
    """A transformer's block with dropout in the attention and after both branches."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__(width, heads, dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norms[0](x), self.dropout.p if self.training else 0.0))
        added: Tensor = x + self.mlp(self.norms[1](x))
        return added


class Embedding(nn.Module):
    """The sum of the embeddings of words and of positions."""

    def __init__(self, words: int, length: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Parameter(torch.randn(length, width) * 0.02)

    def forward(self, x: Tensor) -> Tensor:
        embedded: Tensor = self.words(x) + self.positions[: x.shape[1]]
        return embedded


class UNet(nn.Module):
    """A U-Net of three levels for two classes of pixels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.down = nn.ModuleList([twice(3, width), twice(width, 2 * width), twice(2 * width, 4 * width)])
        wider = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.up = nn.ModuleList([wider, nn.ConvTranspose2d(2 * width, width, 2, 2)])
        self.joined = nn.ModuleList([twice(4 * width, 2 * width), twice(2 * width, width)])
        self.last = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        first = self.down[0](x)
        second = self.down[1](functional.max_pool2d(first, 2))
        x = self.down[2](functional.max_pool2d(second, 2))
        x = self.joined[0](torch.cat([self.up[0](x), second], 1))
        scores: Tensor = self.last(self.joined[1](torch.cat([self.up[1](x), first], 1)))
        return scores


class Recurrent(nn.Module):
    """A language model of two LSTM layers with dropout between them."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True, dropout=0.2)
        self.last = nn.Linear(width, words)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.last(self.lstm(self.words(x))[0])
        return scores


def twice(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(convolved(before, after, 3), convolved(after, after, 3))


def gpt(layers: int, width: int, heads: int, words: int, length: int) -> nn.Module:
    blocks = [GptBlock(width, heads, 0.1) for _ in range(layers)]
    return nn.Sequential(Embedding(words, length, width), *blocks, nn.LayerNorm(width), nn.Linear(width, words))


def built(name: str, small: bool) -> tuple[nn.Module, Sequence[int], int]:
    """Return a network, the shape of one example (texts have one axis) and the number of classes."""
    if name.startswith("gpt"):
        sizes = (2, 32, 2, 16, 32) if small else (12, 768, 12, 8192, 1024)
        return gpt(*sizes), sizes[-1:], sizes[-2]
    if name == "resnet":
        side = 32 if small else 224
        return resnet((1, 1, 1, 1), 8, 100) if small else resnet(50, classes=100), (3, side, side), 100
    if name == "unet":
        side = 32 if small else 256
        return UNet(8 if small else 64), (3, side, side), 2
    if name == "lstm":
        words, width, length = (32, 24, 10) if small else (4096, 1024, 256)
        return Recurrent(words, width), (length,), words
    module, examples = SMALL[name.rstrip("0123456789")]() if small else FULL[name](1)
    return module, examples.shape[1:], module[-1].out_features  # type: ignore[index]


def case(name: str, small: bool, batch: int, device: torch.device) -> "Case":
    """Return a network of NAMES on a device, with random examples and labels."""
    torch.manual_seed(0)
    module, shape, classes = built(name, small)
    generator = torch.Generator().manual_seed(1)
    if len(shape) == 1:
        examples = torch.randint(classes, (batch, *shape), generator=generator)
        labels = torch.randint(classes, (batch * shape[0],), generator=generator)
    else:
        examples = torch.randn(batch, *shape, generator=generator)
        pixels = shape[1:] if name == "unet" else ()
        labels = torch.randint(classes, (batch, *pixels), generator=generator)
    labels = labels.to(device)

    def loss(output: Tensor) -> Tensor:
        scores = output.float()
        return functional.cross_entropy(scores.flatten(0, 1) if scores.ndim == 3 else scores, labels)

    return Case(module.to(device), examples.to(device), loss, name in BFLOAT16)


@dataclass(frozen=True)
class Case:
    """A network on a device with its batch and loss; half: whether steps compute in bfloat16."""

    module: nn.Module
    examples: Tensor
    loss: Callable[[Tensor], Tensor]
    half: bool

    @property
    def device(self) -> torch.device:
        return self.examples.device

    @property
    def cuda(self) -> bool:
        return self.device.type == "cuda"

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.half)

    def synchronize(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def step(self, run: Run) -> Tensor:
        """Run a training step with fresh gradients and return its loss."""
        self.module.zero_grad()
        with self.autocast():
            loss = self.loss(run(self.examples))
        loss.backward()
        return loss

    def gradients(self, run: Run, steps: int = 2) -> list[Tensor]:
        """Return losses and gradients of steps from one seed, then buffers, all on the host; buffers are restored."""
        self.module.zero_grad()
        found: list[Tensor] = []
        with restored(self.module):
            torch.manual_seed(11)
            torch.cuda.manual_seed_all(11)
            for _ in range(steps):
                found += copied([self.step(run).float(), *(one.grad for one in self.module.parameters())])
            found += copied(self.module.buffers())
            self.synchronize()
        return on_host(found)

    def measured(self, run: Run) -> Row:
        """Return peaks and milliseconds of a step; buffers are restored."""
        self.module.zero_grad()
        with restored(self.module):
            for _ in range(WARM):
                self.step(run)
            self.module.zero_grad()
            self.synchronize()
            peaks = self._cuda_peaks(run) if self.cuda else self._profiled_peak(run)
            took = [self._milliseconds(run) for _ in range(TIMED)]
        return peaks | {"milliseconds": f"{statistics.median(took) if self.cuda else min(took):.2f}"}

    def _cuda_peaks(self, run: Run) -> Row:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        requested_before = torch.cuda.memory_stats().get("requested_bytes.all.current", 0)
        self.step(run)
        torch.cuda.synchronize()
        return {
            "static_bytes": before,
            "peak_bytes": torch.cuda.max_memory_allocated(),
            "requested_static_bytes": requested_before,
            "requested_bytes": torch.cuda.memory_stats().get("requested_bytes.all.peak", 0),
            "reserved_bytes": torch.cuda.max_memory_reserved(),
        }

    def _profiled_peak(self, run: Run) -> Row:
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
            self.step(run)
        events = enumerate(profiled.profiler.kineto_results.events())  # type: ignore[union-attr]
        changes = sorted((one.start_ns(), i, one.nbytes()) for i, one in events if one.name() == "[memory]")
        peak = max(accumulate((size for *_, size in changes), initial=0))
        static = sum(one.nbytes for one in (*self.module.parameters(), *self.module.buffers(), self.examples))
        return {"static_bytes": static, "peak_bytes": static + peak}

    def _milliseconds(self, run: Run) -> float:
        clock = time.perf_counter if self.cuda else time.process_time
        self.synchronize()
        began = clock()
        self.step(run)
        self.synchronize()
        return 1e3 * (clock() - began)

    def traced(self) -> Trace:
        with self.autocast():
            return trace(self.module, self.examples, loss=self.loss)

    def fitted(self, budget: int, **settings: Any) -> memory.Fitted:
        """Return a plan within a budget, or within the smallest budget that the error names."""
        settings = {"loss": self.loss, "exchanges": 0} | settings
        with self.autocast():
            try:
                return memory.fit(self.module, self.examples, budget, **settings)
            except ValueError as error:
                least = re.search(r"at least ([\d.]+ \w+)", str(error))
                if least is None:
                    raise
            return memory.fit(self.module, self.examples, int(SLACK * size_of(least[1])), **settings)


def copied(tensors: Iterable[Any]) -> list[Tensor]:
    """Return copies on the same device, which synchronise nothing."""
    return [one.detach().clone() for one in tensors]


def on_host(tensors: list[Tensor]) -> list[Tensor]:
    """Return tensors on the host, so that later peaks of the device leave them out."""
    return [one.cpu() for one in tensors]


def difference(found: list[Tensor], expected: list[Tensor]) -> float:
    """Return the largest difference relative to the largest number of a tensor: 0 if all bits agree, inf with NaN."""
    worst = 0.0
    for one, other in zip(found, expected, strict=True):
        if not torch.equal(one, other):
            error = float((one.float() - other.float()).abs().max()) / (float(other.float().abs().max()) + 1e-30)
            worst = max(worst, math.inf if math.isnan(error) else error)
    return worst


def difference_row(error: float, noise: float = 0.0, tolerance: float = 0.0) -> Row:
    """Return the cells of a difference from eager steps. noise: the difference of two eager steps."""
    wrong = error > max(tolerance, OVER_NOISE * noise)
    failed = {"status": f"failed: gradients differ by {error:.2g} from eager steps"} if wrong else {}
    return failed | {"gradient_error": f"{error:.2g}"}


@contextmanager
def entered(way: str, module: nn.Module) -> Iterator[Run]:
    """Yield the callable to use instead of `module`: "eager", a checkpointing, or "compiled B" by budget."""
    if way == "eager":
        yield module
    elif way.endswith("checkpointing"):
        yield partial(checkpointed, module, way.startswith("selective"))
    else:
        with compiled(module, float(way.split()[1])) as run:
            yield run


def checkpointed(module: Any, selective: bool, batch: Tensor) -> Any:
    """Run each child of a module in its own checkpoint."""
    context = {"context_fn": partial(create_selective_checkpoint_contexts, kept)} if selective else {}
    for child in module:
        batch = checkpoint(child, batch, use_reentrant=False, **context)
    return batch


def kept(context: Any, func: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    """Keep the results of expensive operations."""
    op = func._overloadpacket.__name__ if hasattr(func, "_overloadpacket") else str(func)
    dear = op in DEAR or "attention" in op
    return CheckpointPolicy.MUST_SAVE if dear else CheckpointPolicy.PREFER_RECOMPUTE


@contextmanager
def compiled(module: nn.Module, budget: float) -> Iterator[Run]:
    """Yield a compiled module with a budget of saved bytes: inductor on CUDA, plain graphs elsewhere."""
    import torch._dynamo
    import torch._functorch.config as config

    cuda = next(module.parameters()).is_cuda
    torch._dynamo.reset()
    with config.patch(activation_memory_budget=budget):
        yield torch.compile(module, backend="inductor" if cuda else "aot_eager")
    torch._dynamo.reset()
