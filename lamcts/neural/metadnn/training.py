"""Networks of the meta-DNN and their training: one network, or experts by ranges of accuracy with a router.

Letters: n training rows, m rows of a prediction, k features, s stages, t layers of an architecture, o outputs.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional

from lamcts.neural.metadnn.settings import LEAST, MetaDnnSettings, Predictor
from lamcts.types import Floats, Rows, array_of

CHUNK = 8192  # rows of a prediction batch: 64 MB in the widest layer of the paper
Loss = Callable[[Tensor, Tensor], Tensor]


def fit(settings: MetaDnnSettings, x: Floats, y: Floats, seed: int, start: Predictor | None) -> Predictor:
    """Fit a predictor to rows `x` [n, k] and accuracies `y` [n], from the weights of `start` if given."""
    kind = _Staged if settings.kind == "multistage" else _Single
    if start is not None and not (isinstance(start, kind) and start.width == x.shape[1]):
        raise ValueError("fit: expected start to be a predictor of these settings and features; leave it out")
    generator = torch.Generator().manual_seed(seed)
    fit_kind: Any = _fit_staged if settings.kind == "multistage" else _fit_single
    predictor: Predictor = fit_kind(settings, x, y, generator, start)
    return predictor


# One network ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Single:
    """One network, and the mean and deviation of its targets."""

    net: nn.Module
    mean: float
    deviation: float
    width: int
    device: str

    def __call__(self, features: ArrayLike) -> Floats:
        return self.mean + self.deviation * _forward(self.net, features, self.width, self.device)[:, 0]


def _fit_single(
    settings: MetaDnnSettings, x: Floats, y: Floats, generator: torch.Generator, start: _Single | None
) -> _Single:
    mean, deviation = float(y.mean()), float(y.std()) or 1.0
    before = None if start is None else start.net
    net = _train(settings, x, (y - mean)[:, None] / deviation, 1, functional.mse_loss, generator, before)
    return _Single(net, mean, deviation, x.shape[1], settings.device)


# Several, by ranges of accuracy ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Staged:
    """A classifier over the ranges between `cuts`, and an expert for each range."""

    router: nn.Module
    experts: list[_Single]  # [s]
    cuts: Floats  # [s - 1]
    width: int
    device: str
    soft: bool

    def __call__(self, features: ArrayLike) -> Floats:
        score = _forward(self.router, features, self.width, self.device)  # [m, s]
        answers = np.column_stack([expert(features) for expert in self.experts])  # [m, s]
        if not self.soft:
            return np.asarray(answers[np.arange(len(answers)), score.argmax(1)])
        weight = np.exp(score - score.max(1, keepdims=True))
        return np.asarray((answers * weight).sum(1) / weight.sum(1))


def _fit_staged(
    settings: MetaDnnSettings, x: Floats, y: Floats, generator: torch.Generator, start: _Staged | None
) -> _Staged:
    """Fit an expert to the rows of each range, and the router to tell the ranges apart."""
    cuts = _cuts(settings, y) if start is None else start.cuts
    stage = np.searchsorted(cuts, y, side="right")  # [n]
    experts = []
    for i in range(len(cuts) + 1):
        rows, before = np.flatnonzero(stage == i), None if start is None else start.experts[i]
        own = rows if len(rows) >= LEAST else np.arange(len(y))  # later fits may leave a range empty
        experts.append(_fit_single(settings, x[own], y[own], generator, before))
    known = None if start is None else start.router
    router = _train(settings, x, stage, len(experts), functional.cross_entropy, generator, known)
    return _Staged(router, experts, cuts, x.shape[1], settings.device, settings.routing == "soft")


def _cuts(settings: MetaDnnSettings, y: Floats) -> Floats:
    """Return the bounds of ranges that have enough rows for an expert."""
    kept, begin, y = list[float](), 0, np.sort(y)
    even = np.linspace(y[0], y[-1], settings.stages + 1)[1:-1]
    wanted = even if settings.cuts is None else np.array(settings.cuts, np.float64)
    for cut in wanted:
        end = int(np.searchsorted(y, cut))
        if end - begin >= LEAST and len(y) - end >= LEAST:
            kept.append(float(cut))
            begin = end
    return np.array(kept)


# What they share ------------------------------------------------------------------------------------------------------


def _train(
    settings: MetaDnnSettings,
    x: Floats,
    target: Floats | Rows,
    outputs: int,
    loss: Loss,
    generator: torch.Generator,
    start: nn.Module | None,
) -> nn.Module:
    """Train a network with `outputs` outputs on `x` [n, k] and `target` [n] or [n, 1]."""
    net = _network(settings, x.shape[1], outputs, generator)
    if start is not None:
        net.load_state_dict(start.state_dict())
    rows = torch.as_tensor(x, dtype=torch.float32, device=settings.device)
    goal = torch.as_tensor(target, device=settings.device)
    goal = goal.float() if goal.is_floating_point() else goal
    optimiser = torch.optim.AdamW(net.parameters(), lr=settings.rate, weight_decay=settings.decay)
    with torch.enable_grad():  # independent of the caller's mode
        for done, part in _batches(len(x), settings, generator):
            optimiser.param_groups[0]["lr"] = settings.rate * (1 + math.cos(math.pi * done)) / 2
            optimiser.zero_grad()
            loss(net(rows[part]), goal[part]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return net.requires_grad_(False)


def _batches(n: int, settings: MetaDnnSettings, generator: torch.Generator) -> Iterator[tuple[float, Tensor]]:
    """Yield the share of finished steps, and the rows of the next step; each epoch has a new order."""
    each = math.ceil(n / settings.batch)
    for epoch in range(settings.epochs):
        for i, part in enumerate(torch.randperm(n, generator=generator).to(settings.device).chunk(each)):
            yield (epoch + i / each) / settings.epochs, part


def _forward(net: nn.Module, features: ArrayLike, width: int, device: str) -> Floats:
    """Return the outputs for rows `features` [m, k], [m, o]."""
    x = torch.as_tensor(array_of(features), dtype=torch.float32, device=device)
    if x.ndim != 2 or x.shape[1] != width:
        raise ValueError(f"predictor: expected features [m, {width}], as in the fit, got {list(x.shape)}")
    with torch.no_grad():
        parts = [net(part) for part in torch.split(x, CHUNK)]
    return np.asarray(torch.cat(parts).cpu().numpy(), np.float64)


# Networks -------------------------------------------------------------------------------------------------------------


class _Recurrent(nn.Module):
    """An LSTM over the codes of an architecture's layers; its last state goes through one layer (thesis 3.3.2)."""

    def __init__(self, width: int, outputs: int, settings: MetaDnnSettings) -> None:
        super().__init__()
        self.steps = settings.steps
        self.embed = nn.Linear(width // settings.steps, settings.embedding)
        self.lstm = nn.LSTM(settings.embedding, settings.state, batch_first=True)
        self.head = nn.Linear(settings.state, outputs)

    def forward(self, x: Tensor) -> Tensor:  # [n, k] -> [n, o]
        codes = x.reshape(len(x), self.steps, x.shape[1] // self.steps)  # [n, t, k / t]
        _, (last, _) = self.lstm(self.embed(codes))
        out: Tensor = self.head(last[-1])
        return out


def _mlp(width: int, outputs: int, settings: MetaDnnSettings) -> nn.Module:
    """Return layers of ReLU units between the features and the outputs."""
    widths, layers = (width, *settings.hidden), list[nn.Module]()
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], outputs))


def _network(settings: MetaDnnSettings, width: int, outputs: int, generator: torch.Generator) -> nn.Module:
    """Return a network on the settings' device, its weights drawn from `generator`, which is the CPU's."""
    make = _Recurrent if settings.kind == "recurrent" else _mlp
    with torch.device("meta"):  # with memory, layers would draw weights from the global generator
        net = make(width, outputs, settings)
    net.to_empty(device="cpu")
    with torch.no_grad():
        for weight in net.parameters():
            _draw(weight, generator)
    return net.to(settings.device)


def _draw(weight: Tensor, generator: torch.Generator) -> None:
    """Draw a matrix uniformly with deviation sqrt(2 / inputs) (He 2015, Delving deep into rectifiers); biases are 0."""
    if weight.ndim < 2:
        weight.zero_()
    else:
        bound = (6 / weight.shape[1]) ** 0.5
        weight.uniform_(-bound, bound, generator=generator)
