"""Evolution of networks that are no classifiers: a loss and a score of the user's own."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
pytest.importorskip("networkx", reason="networkx is not installed: pip install '.[evolve]'")

import torch
from torch import Tensor, nn

from lamcts.neural import evolve
from lamcts.neural.plot import evolution_front
from lamcts.neural.train import Data, Part, Recipe, Task, train
from tests.neural.evolve.search.evolve_cases import made


def squared(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs - targets).square().mean()


def ratio(outputs: Tensor, targets: Tensor) -> Tensor:
    return -10 * torch.log10(squared(outputs, targets))


def noisy() -> Data:
    """Return images of one wave each with noise; targets are the waves."""
    rng = np.random.default_rng(0)
    clean = np.sin(rng.uniform(0, 6, (120, 1, 1, 1)) + np.arange(8) / 2).repeat(8, axis=2).astype(np.float32)
    x = clean + 0.3 * rng.normal(size=clean.shape).astype(np.float32)
    cut = (slice(0, 60), slice(60, 90), slice(90, 120))
    return Data("waves", *(Part(x[rows], clean[rows]) for rows in cut), classes=0)


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        first, last = nn.Conv2d(1, 6, 3, padding=1), nn.Conv2d(6, 1, 3, padding=1)
        self.noise = nn.Sequential(first, nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(), last)

    def forward(self, x: Tensor) -> Tensor:
        return x - self.noise(x)


def evolved(task: Task) -> evolve.Found:
    recipe = Recipe(epochs=2, optimiser="adamw", rate=0.01, batch=20)
    few = {"budget": 10, "seeds": 2, "finalists": 2}
    return evolve.fit(
        made(Denoiser), data=noisy(), recipe=recipe, task=task, at_most={"flops": 0.8}, progress=False, **few
    )


@pytest.mark.parametrize("maximize", [True, False])
def test_children_are_ordered_by_the_score_of_the_task(maximize: bool) -> None:
    task = Task(squared, ratio, name="psnr_db") if maximize else Task(squared, name="squared")
    found, sign = evolved(task), 1 if maximize else -1
    best = max(found.finalists, key=lambda child: sign * child.score)
    assert found.best is best is found.finalists[0]
    assert found.parent.evolution.objectives == {task.name: "max" if maximize else "min"}
    head, row, *_ = str(found).splitlines()
    assert head.split()[:2] == [task.name, "spread"] and row.split()[1] == f"{found.parent.score:.2f}"
    held = noisy()
    with torch.no_grad():
        outputs = best.module().eval()(torch.tensor(held.valid.x))
    scored = task.scored(outputs, torch.tensor(held.valid.y), squared(outputs, torch.tensor(held.valid.y)))
    assert scored == pytest.approx(max(best.scores, key=lambda score: sign * score), abs=0.01)
    assert found.ratios(best)["flops"] <= 0.8 and found.parent.costs["peak_mb"] > 0
    label = evolution_front(found).axes[0].get_ylabel()
    assert label == ("validation psnr_db  better →" if maximize else "← better  validation squared")


def test_the_score_of_the_parent_is_that_of_its_training() -> None:
    task = Task(squared, ratio, name="psnr_db")
    parent = evolved(task).parent
    alone = train(parent.module(), noisy(), Recipe(epochs=1, rate=1e-9, optimiser="adamw"), task=task)
    assert alone.valid_accuracy == pytest.approx(max(parent.scores), abs=0.05)


def test_targets_that_are_no_classes_need_a_task_that_takes_the_outputs() -> None:
    with pytest.raises(ValueError, match=r"task: expected a loss and a score, as the targets of waves are no classes"):
        evolve.fit(made(Denoiser), data=noisy())

    def wrong(outputs: Tensor, targets: Tensor) -> Tensor:
        raise RuntimeError("sizes differ")

    text = r"model: expected a tensor that the loss of the task takes of examples \(8, 1, 8, 8\).*sizes differ"
    with pytest.raises(ValueError, match=text):
        evolve.fit(made(Denoiser), data=noisy(), task=Task(wrong))


@pytest.mark.parametrize("name", ["flops", "message", "edit1"])
def test_a_score_has_a_name_of_its_own(name: str) -> None:
    with pytest.raises(ValueError, match=f"task: expected a score with a name of its own, got '{name}'"):
        evolved(Task(squared, name=name))
    with pytest.raises(ValueError, match=r"task: expected a lamcts\.neural\.train\.Task, got function"):
        evolved(squared)  # type: ignore[arg-type]
