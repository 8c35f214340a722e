"""The training loop: epochs of augmented batches.

Letters: n examples, b of a batch, k classes.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.graphs import liveness
from lamcts.neural.train.augment import Augmentation
from lamcts.neural.train.data import Array, Data, Part
from lamcts.neural.train.failures import NO_MEMORY, Diverged, OutOfMemory
from lamcts.neural.train.planned_steps import PlannedSteps
from lamcts.neural.train.planner import StepPlanner, checked
from lamcts.neural.train.progress import TrainingState
from lamcts.neural.train.recipe import Recipe
from lamcts.neural.train.seeds import Seeds, in_epoch
from lamcts.neural.train.task import Task

PERCENT = 100.0  # of a share
IMAGE = 3  # axes of an image: channels, height, width
CHUNK = 512  # examples evaluated at once; needs less memory than a training step of batch 128


class OnDisk:
    """Rows of a memory map, read as tensors on a device where they are wanted."""

    nbytes = 0  # on the device

    def __init__(self, array: Array, device: torch.device) -> None:
        self.array, self.device = array, device

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, rows: Tensor | slice) -> Tensor:
        chosen = rows if isinstance(rows, slice) else rows.cpu().numpy()
        return torch.tensor(self.array[chosen], device=self.device)


class DevicePart(NamedTuple):
    """A part as tensors on a device, or on disk."""

    x: Tensor | OnDisk
    y: Tensor | OnDisk


@dataclass(frozen=True)
class Epoch:
    """Results of one epoch."""

    epoch: int
    train_loss: float  # mean loss over the augmented training examples, in nats
    valid_loss: float  # after the epoch, in nats
    valid_accuracy: float  # after the epoch, from 0 to 1; the score of a `Task`
    seconds: float


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network and its results."""

    net: nn.Module
    epochs: list[Epoch] = field(repr=False)  # results of each epoch, with those before a resume
    test_loss: float  # after the last epoch, in nats
    test_accuracy: float  # after the last epoch, from 0 to 1; the score of a `Task`
    peak_bytes: int | None  # peak memory on a CUDA device; None elsewhere
    planned_peak_bytes: int | None = None
    task: Task | None = None

    @property
    def valid_accuracy(self) -> float:
        """Accuracy after the last epoch."""
        return self.epochs[-1].valid_accuracy

    @property
    def valid_loss(self) -> float:
        """Loss after the last epoch."""
        return self.epochs[-1].valid_loss

    @property
    def summary(self) -> dict[str, float]:
        """All results as numbers with units in their names; peaks where they are known."""
        name, unit = ("accuracy_percent", PERCENT) if self.task is None else (self.task.name, 1.0)
        found = {
            f"valid_{name}": unit * self.valid_accuracy,
            f"test_{name}": unit * self.test_accuracy,
            "valid_loss": self.valid_loss,
            "test_loss": self.test_loss,
            "seconds": self.seconds,
        }
        peaks = {"peak_bytes": self.peak_bytes, "planned_peak_bytes": self.planned_peak_bytes}
        return found | {name: float(peak) for name, peak in peaks.items() if peak is not None}

    @property
    def seconds(self) -> float:
        """Time of all epochs, with those before a resume."""
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
    memory_budget: StepPlanner | None = None,
    task: Task | None = None,
) -> Trained:
    """Train a network in place.

    On the CPU, equal seeds and thread counts give equal bits, if random layers are those of `lamcts.neural.build`. No
    global generator is used.

    Parameters
    ----------
    net : torch.nn.Module
        From examples [n, ...] to class scores [n, k], or [n, t, k] for texts; or to what the loss of a task takes.
    data : Data
        Training, validation and test data.
    recipe : Recipe
        Training settings.
    seed : int or Seeds, default 0
        One seed, or four for separate uses.
    device : str, default "cpu"
        Device of torch, such as "cuda".
    checkpoint : path, default None
        File written after each epoch. If it exists, the training resumes from it with the same bits on the CPU.
    report : callable, default None
        Called after each epoch; an exception ends the training. After a resume it is called for earlier epochs first.
    memory_budget : lamcts.neural.memory.Budget, default None
        Memory budget, within which training steps are planned. Weights have the same bits on the CPU; a step that fits
        runs without a plan. Data and averaged weights count. Evaluation is by batches of the recipe, not by 512.
    task : Task, default None
        Loss and score of the outputs; None is cross-entropy and accuracy.

    Returns
    -------
    Trained
        The network and its results.

    Raises
    ------
    Diverged
        If the loss is not finite.
    OutOfMemory
        If the device has too little memory, or no plan is within the budget.
    TrainingFailed
        If a training step cannot be planned.
    """
    seeds, here = Seeds.of(seed), torch.device(device)
    _fits(recipe, data, here, task)
    checked(memory_budget)
    parts = {name: to_device(part, here) for name, part in data.parts.items()}
    state = TrainingState(net.to(here), recipe, seeds, data, task)
    done = state.resumed(checkpoint)
    epochs = [Epoch(**row) for row in done]
    for epoch in epochs:
        _tell(report, epoch)
    state.scaled(torch.zeros((), device=here))  # makes the scale, which a trace may not
    plans = PlannedSteps(memory_budget, state.net, state.optimiser, _other_bytes(state, parts))
    with _memory(here) as peak:
        for number in range(len(epochs), recipe.epochs):
            epochs.append(_epoch(state, parts, number, plans))
            state.save(checkpoint, [asdict(row) for row in epochs], {})
            _tell(report, epochs[-1])
        evaluated = _evaluated(state, parts["test"], plans)
        planned = plans.peak_bytes or state.planned_peak_bytes
        trained = Trained(state.result, epochs, *evaluated, peak(), planned, task)
    if state.unfinished:
        state.save(checkpoint, [asdict(row) for row in epochs], trained.summary)
    return trained


def _tell(report: Callable[[Epoch], None] | None, epoch: Epoch) -> None:
    if report is not None:
        report(epoch)


def _other_bytes(state: TrainingState, parts: dict[str, DevicePart]) -> int:
    """Return the bytes next to a training step: data on the device, and averaged weights."""
    size = sum(one.nbytes for part in parts.values() for one in part)
    return size + (0 if state.average is None else sum(one.nbytes for one in state.average.state_dict().values()))


def _epoch(state: TrainingState, parts: dict[str, DevicePart], number: int, plans: PlannedSteps) -> Epoch:
    begin = time.perf_counter()
    train_loss = _learn(state, parts["train"], number, plans)
    if not math.isfinite(train_loss):
        raise Diverged(f"epoch {number + 1}: the loss is {train_loss}; lower the rate, warm up, or clip gradients")
    loss, accuracy = _evaluated(state, parts["valid"], plans)
    if not math.isfinite(loss):
        raise Diverged(f"epoch {number + 1}: the validation loss is {loss}; lower the rate, warm up, or clip gradients")
    return Epoch(number + 1, train_loss, loss, accuracy, time.perf_counter() - begin)


def _evaluated(state: TrainingState, part: DevicePart, plans: PlannedSteps) -> tuple[float, float]:
    """Return the loss and accuracy on a part; texts, and all within a memory budget, are evaluated in batches."""
    whole = state.of_classes and plans.planner is None
    return evaluate(state.result, part, CHUNK if whole else min(CHUNK, state.recipe.batch), state.task)


def _learn(state: TrainingState, part: DevicePart, number: int, plans: PlannedSteps) -> float:
    """Train for one epoch; return the mean loss."""
    recipe, seeds = state.recipe, state.seeds
    augmentation = Augmentation(recipe, in_epoch(seeds.augmentation, number))
    total, steps = torch.zeros((), device=part.x.device), math.ceil(len(part.y) / recipe.batch)
    state.begin(number)
    with torch.enable_grad(), plans:  # independent of the caller's mode
        for i, rows in enumerate(batches(len(part.y), recipe.batch, seeds.order, number, part.x.device)):
            x, of, mixed = _step_of(state, augmentation, part.x[rows], part.y[rows])
            with _autocast(recipe, part.x.device):
                plans.before(x, mixed, partial(_scaled_loss, state, of))
                loss = of(state.net(x))
            state.step(loss, number + i / steps)
            total += loss.detach() * len(rows)
    return float(total) / len(part.y)


def _step_of(
    state: TrainingState, augmentation: Augmentation, x: Tensor, y: Tensor
) -> tuple[Tensor, Callable[[Tensor], Tensor], bool]:
    """Return the input of a batch, its loss as a function of the output, and whether labels are mixed."""
    if state.task is not None:
        return x, partial(_own_loss, state.task, y), False
    x, targets = augmentation(x, y)
    return x, partial(targets.loss, smoothing=state.recipe.smoothing), targets.mixed


def _scaled_loss(state: TrainingState, of: Callable[[Tensor], Tensor], outputs: Tensor) -> Tensor:
    return state.scaled(of(outputs))


def _own_loss(task: Task, targets: Tensor, outputs: Tensor) -> Tensor:
    return task.loss(outputs, targets)


def batches(n: int, batch: int, seed: int, epoch: int, device: torch.device | None = None) -> Iterator[Tensor]:
    """Yield the rows of each batch of an epoch, a random permutation in equal parts, sent to a device at once."""
    generator = torch.Generator().manual_seed(in_epoch(seed, epoch))
    order = torch.randperm(n, generator=generator).to(device or "cpu")
    yield from torch.tensor_split(order, math.ceil(n / batch))


@torch.no_grad()
def evaluate(net: nn.Module, part: DevicePart, chunk: int = CHUNK, task: Task | None = None) -> tuple[float, float]:
    """Return the mean loss in nats and the accuracy, from 0 to 1, of a network on a part; those of a task if given."""
    training, loss, right, count = net.training, 0.0, 0.0, 0
    net.eval()
    for first in range(0, len(part.x), chunk):
        x, y = (one[first : first + chunk] for one in part)
        if task is None:
            scores = net(x).float().flatten(0, -2)  # [b, k]; of texts, [b t, k]
            loss += float(functional.cross_entropy(scores, y.flatten(), reduction="sum"))
            right += int((scores.argmax(-1) == y.flatten()).sum())
            count += y.numel()
        else:
            mean = task.loss(outputs := net(x), y)
            loss, right = loss + len(x) * float(mean), right + len(x) * task.scored(outputs, y, mean)
            count += len(x)
    net.train(training)
    return loss / count, right / count


def to_device(part: Part, device: torch.device) -> DevicePart:
    """Return a part as tensors on a device; a memory map stays on disk."""
    return DevicePart(
        *(OnDisk(one, device) if isinstance(one, np.memmap) else torch.tensor(one, device=device) for one in part)
    )


def step_bytes(net: nn.Module, data: Data, recipe: Recipe, task: Task | None = None) -> int:
    """Return the peak of a training step in bytes, with weights and optimizer state."""
    from lamcts.neural.trace import trace  # loads slowly

    batch = min(recipe.batch, len(data.train.y))
    x, y = torch.tensor(data.train.x[:batch]), torch.tensor(data.train.y[:batch])

    def loss(scores: Tensor) -> Tensor:
        if task is not None:
            return task.loss(scores, y)
        flat = scores.flatten(0, -2)
        return functional.cross_entropy(flat, torch.zeros(len(flat), dtype=y.dtype, device=scores.device))

    state = "adam" if recipe.optimiser == "adamw" else "momentum" if recipe.momentum else "sgd"
    graph = trace(net.train(), x, loss=loss, optimizer=state).graph
    return liveness(graph).peak_bytes + graph.outside_bytes


def _fits(recipe: Recipe, data: Data, device: torch.device, task: Task | None) -> None:
    if task is None and not data.classes:
        got = data.train.y.dtype
        raise ValueError(f"{data.name}: expected classes as targets, got {got}: pass a Task with its loss")
    if task is not None and (named := [*recipe.of_images, *(["smoothing"] if recipe.smoothing else [])]):
        raise ValueError(f"recipe: expected none of the settings for classes with a Task, got {', '.join(named)}")
    if recipe.precision == "float16" and device.type != "cuda":
        raise ValueError(f"precision: expected 'float32' or 'bfloat16' on {device.type}, got 'float16'")
    if (len(data.shape) != IMAGE or data.train.y.ndim > 1) and (named := recipe.of_images):
        kind = "texts" if len(data.shape) != IMAGE else "classes of pixels"
        raise ValueError(f"{data.name}: expected a recipe for {kind}, got {', '.join(named)}, which change images")


def _autocast(recipe: Recipe, device: torch.device) -> AbstractContextManager[object]:
    if recipe.precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, getattr(torch, recipe.precision))


@contextmanager
def _memory(device: torch.device) -> Iterator[Callable[[], int | None]]:
    """Turn out-of-memory errors into `OutOfMemory`; yield a function for the peak so far."""
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
            torch.cuda.empty_cache()  # frees memory for the next training
