"""Inputs of an evolution: data, examples to read the model with, and checks of both."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from lamcts.neural.train.data import Data
from lamcts.neural.train.datasets import from_datasets
from lamcts.neural.train.task import Task
from lamcts.text import safe_text

EXAMPLES = 8  # of the batch with which the network is read
PARTS = 3  # training, validation and test


def data_of(given: Data | Sequence[Any] | None) -> Data:
    """Return data sets of torch in memory."""
    if isinstance(given, Data):
        return given
    if not isinstance(given, (tuple, list)) or len(given) != PARTS:
        got = "none" if given is None else type(given).__name__
        got += f" of {len(given)}" if isinstance(given, (tuple, list)) else ""
        raise ValueError(
            f"data: expected lamcts.neural.train.Data or three data sets (train, validation, test), got {got}"
        )
    return from_datasets(*given)


def examples_of(batch: Tensor | None, data: Data) -> Tensor:
    """Return the batch to read a model with."""
    if batch is None:
        return torch.tensor(data.train.x[:EXAMPLES])
    if tuple(batch.shape[1:]) != data.shape:
        wanted = ", ".join(["n", *map(str, data.shape)])
        raise ValueError(
            f"batch: expected examples of shape ({wanted}) as in the data, with the batch axis first, "
            f"got {tuple(batch.shape)}"
        )
    return batch


def check_device(device: str) -> None:
    """Check that torch has a device."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        text = str(error).splitlines()[0]
        raise ValueError(f"device: expected a device of torch, such as cpu or cuda, got {device!r}: {text}") from error


def check_model(model: nn.Module, examples: Tensor, data: Data, task: Task | None = None) -> None:
    """Check that a model maps examples to class scores, or to a tensor that the loss of a task takes."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model: expected a torch.nn.Module, got {type(model).__name__}; pass the module itself")
    if not isinstance(task, (Task, type(None))):
        raise ValueError(f"task: expected a lamcts.neural.train.Task, got {type(task).__name__}")
    if task is None and not data.classes:
        raise ValueError(f"task: expected a loss and a score, as the targets of {data.name} are no classes, got none")
    wanted = f"scores (n, {data.classes})" if task is None else "a tensor that the loss of the task takes"
    wanted = f"model: expected {wanted} of examples {tuple(examples.shape)} of {data.name}"
    with _evaluation(model), torch.no_grad(), torch.random.fork_rng(devices=[]):
        try:
            scores, again = model(examples), model(examples)
            if task is not None and isinstance(scores, Tensor):
                task.loss(scores, torch.tensor(data.train.y[: len(examples)]))
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise ValueError(f"{wanted}, got {type(error).__name__}: {' '.join(str(error).split())}") from error
    if not isinstance(scores, torch.Tensor):
        raise ValueError(f"{wanted}, got a {type(scores).__name__}; wrap the model so that it returns the scores alone")
    if task is None and (
        scores.shape[:-1] != (len(examples), *data.train.y.shape[1:]) or scores.shape[-1] < data.classes
    ):
        raise ValueError(f"{wanted}, got scores of shape {tuple(scores.shape)}")
    if not torch.equal(scores, again):
        text = "model: two passes in evaluation mode differ: the model is not deterministic, and neither are its costs"
        warnings.warn(f"{text} and scores", UserWarning, stacklevel=4)


@contextmanager
def _evaluation(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode, and each of its modules back into its own mode."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def model_of(load: Callable[[], Any], name: str) -> nn.Module:
    """Return the module that `load` returns, or that the function which it returns makes."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(0)
        found = load()
        if not isinstance(found, nn.Module) and callable(found):
            try:
                found = found()
            except Exception as error:  # of the user's function
                text = f"{type(error).__name__}: {safe_text(error)}"
                raise ValueError(f"model: {name} raised {text}") from error
    if not isinstance(found, nn.Module):
        got = type(found).__name__
        raise ValueError(f"model: expected a torch.nn.Module or a function that returns one, got {got} from {name}")
    return found
