"""The training loop. START HERE: epochs of batches, each changed, put through the network, and learnt from.

Letters: n examples, b of a batch, k classes.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.train.augment import Augmentation
from lamcts.neural.train.data import Data, Part
from lamcts.neural.train.failures import Diverged, OutOfMemory
from lamcts.neural.train.progress import TrainingState
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds, in_epoch

PERCENT = 100.0  # of a share
IMAGE = 3  # axes of an image: channels, height, width
NO_MEMORY = ("out of memory", "can't allocate memory")  # what torch says on CUDA, and on the CPU
CHUNK = 512  # examples judged at once: less than a step of training takes at batch 128, which keeps what it computes


class Held(NamedTuple):
    """A part as tensors on a device."""

    x: Tensor
    y: Tensor


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to.

    epoch: its number, from 1. train_loss: mean over its examples as they were changed, nats. valid_loss,
    valid_accuracy: after it, a share of 1. seconds: of the epoch and of judging it.
    """

    epoch: int
    train_loss: float
    valid_loss: float
    valid_accuracy: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network.

    net: it, or the one with averaged weights where the recipe averages them. epochs: what each came to. test_loss,
    test_accuracy: after the last. peak_bytes: of memory on a CUDA device, None elsewhere.
    """

    net: nn.Module
    epochs: list[Epoch] = field(repr=False)
    test_loss: float
    test_accuracy: float
    peak_bytes: int | None

    @property
    def valid_accuracy(self) -> float:
        """After the last epoch."""
        return self.epochs[-1].valid_accuracy

    @property
    def valid_loss(self) -> float:
        """After the last epoch."""
        return self.epochs[-1].valid_loss

    @property
    def summary(self) -> dict[str, float]:
        """All of it as numbers, units in their names; `peak_bytes` where the device counts them."""
        found = {
            "valid_accuracy_percent": PERCENT * self.valid_accuracy,
            "test_accuracy_percent": PERCENT * self.test_accuracy,
            "valid_loss": self.valid_loss,
            "test_loss": self.test_loss,
            "seconds": self.seconds,
        }
        return found if self.peak_bytes is None else found | {"peak_bytes": float(self.peak_bytes)}

    @property
    def seconds(self) -> float:
        """Of all epochs, those before a resumption included."""
        return sum(epoch.seconds for epoch in self.epochs)


def train(
    net: nn.Module,
    data: Data,
    recipe: Recipe,
    *,
    seed: int | Seeds = 0,
    device: str = "cpu",
    checkpoint: Path | str | None = None,
    report: Callable[[Epoch], None] | None = None,
) -> Trained:
    """Train a network, which is changed, and return what came of it.

    The same seed gives the same result on CPU, to the bit, with as many threads, if the network draws by `Noise` alone.

    net: gives classes' scores [n, k] for examples [n, ...], or [n, t, k] for texts.
    checkpoint: a file that holds the training after each epoch; where it is there, the training goes on from it.
    report: called after each epoch, and may end the training by an exception; of a training that goes on, it hears
        the earlier epochs first.

    `Diverged` where the loss is no number any more, `OutOfMemory` where the device has too little.
    """
    seeds, here = Seeds.of(seed), torch.device(device)
    _fits(recipe, data, here)
    parts = {name: on(part, here) for name, part in data.parts.items()}
    state = TrainingState(net.to(here), recipe, seeds, data)
    done = state.resumed(checkpoint)
    epochs = [Epoch(**row) for row in done]
    for epoch in epochs:
        _tell(report, epoch)
    with _memory(here) as peak:
        for number in range(len(epochs), recipe.epochs):
            epochs.append(_epoch(state, parts, number))
            state.save(checkpoint, [asdict(row) for row in epochs], {})
            _tell(report, epochs[-1])
        trained = Trained(state.result, epochs, *_judged(state, parts["test"]), peak())
    if state.unfinished:
        state.save(checkpoint, [asdict(row) for row in epochs], trained.summary)
    return trained


def _tell(report: Callable[[Epoch], None] | None, epoch: Epoch) -> None:
    if report is not None:
        report(epoch)


def _epoch(state: TrainingState, parts: dict[str, Held], number: int) -> Epoch:
    begin = time.perf_counter()
    train_loss = _learn(state, parts["train"], number)
    if not math.isfinite(train_loss):
        raise Diverged(f"epoch {number + 1}: the loss is {train_loss}; lower the rate, warm up, or clip gradients")
    loss, accuracy = _judged(state, parts["valid"])
    if not math.isfinite(loss):
        raise Diverged(f"epoch {number + 1}: the validation loss is {loss}; lower the rate, warm up, or clip gradients")
    return Epoch(number + 1, train_loss, loss, accuracy, time.perf_counter() - begin)


def _judged(state: TrainingState, part: Held) -> tuple[float, float]:
    """Return the loss and the accuracy on a part; texts, whose scores are many, go through in batches."""
    return judge(state.result, part, CHUNK if part.y.ndim == 1 else state.recipe.batch)


def _learn(state: TrainingState, part: Held, number: int) -> float:
    """Go through the examples once, and return the mean loss."""
    recipe, seeds = state.recipe, state.seeds
    augmentation = Augmentation(recipe, in_epoch(seeds.augmentation, number))
    total, steps = torch.zeros((), device=part.x.device), math.ceil(len(part.y) / recipe.batch)
    state.begin(number)
    with torch.enable_grad():  # whatever the caller has switched off
        for i, rows in enumerate(batches(len(part.y), recipe.batch, seeds.order, number)):
            rows = rows.to(part.x.device)
            x, targets = augmentation(part.x[rows], part.y[rows])
            with _autocast(recipe, part.x.device):
                loss = targets.loss(state.net(x), recipe.smoothing)
            state.step(loss, number + i / steps)
            total += loss.detach() * len(rows)
    return float(total) / len(part.y)


def batches(n: int, batch: int, seed: int, epoch: int) -> Iterator[Tensor]:
    """Yield the rows of each batch of an epoch: all rows once, in an order of its own, in parts of equal size."""
    generator = torch.Generator().manual_seed(in_epoch(seed, epoch))
    order = torch.randperm(n, generator=generator)
    yield from torch.tensor_split(order, math.ceil(n / batch))


@torch.no_grad()
def judge(net: nn.Module, part: Held, chunk: int = CHUNK) -> tuple[float, float]:
    """Return the mean loss in nats and the accuracy, a share of 1, of a network on examples that are on its device."""
    training, loss, right = net.training, 0.0, 0
    net.eval()
    for x, y in zip(torch.split(part.x, chunk), torch.split(part.y, chunk), strict=True):
        scores = net(x).float().flatten(0, -2)  # [b, k]; of texts, [b t, k]
        loss += float(functional.cross_entropy(scores, y.flatten(), reduction="sum"))
        right += int((scores.argmax(-1) == y.flatten()).sum())
    net.train(training)
    return loss / part.y.numel(), right / part.y.numel()


def on(part: Part, device: torch.device) -> Held:
    """Return a part as tensors on a device."""
    return Held(*(torch.tensor(array, device=device) for array in part))


def _fits(recipe: Recipe, data: Data, device: torch.device) -> None:
    if recipe.precision == "float16" and device.type != "cuda":
        raise ValueError(f"precision: expected 'float32' or 'bfloat16' on {device.type}, got 'float16'")
    if (len(data.shape) != IMAGE or data.train.y.ndim > 1) and (named := recipe.of_images):
        kind = "texts" if len(data.shape) != IMAGE else "classes of pixels"
        raise ValueError(f"{data.name}: expected a recipe for {kind}, got {', '.join(named)}, which change images")


def _autocast(recipe: Recipe, device: torch.device) -> AbstractContextManager[Any]:
    if recipe.precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, getattr(torch, recipe.precision))


@contextmanager
def _memory(device: torch.device) -> Iterator[Callable[[], int | None]]:
    """Turn what a device says of too little memory into `OutOfMemory`; yield what tells the peak so far."""
    cuda = device.type == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    try:
        yield lambda: torch.cuda.max_memory_allocated(device) if cuda else None
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not any(words in str(error) for words in NO_MEMORY):
            raise
        raise OutOfMemory(f"{str(error).splitlines()[0]:.120}; take a smaller batch, or a smaller network") from None
    finally:
        if cuda:
            torch.cuda.empty_cache()  # a failed training must leave room for the next
