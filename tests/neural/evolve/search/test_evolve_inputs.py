"""Wrong input of an evolution: each error says what was expected, what came, and the cure."""

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")
pytest.importorskip("networkx", reason="networkx is not installed: pip install '.[evolve]'")

import torch
from torch import Tensor, nn

from lamcts.neural.evolve import Evolution, UnreadableModel
from lamcts.neural.train import Recipe
from tests.neural.evolve.search.evolve_cases import Network, data, made, quick


class Branch(Network):
    def forward(self, x: Tensor) -> Tensor:
        scores = super().forward(x)
        if scores.sum() > 0:
            return scores
        return -scores


class Opaque(nn.Module):
    """Transposed convolutions and a product of matrices: nothing that can be replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(1, 4, 3)
        self.weight = nn.Parameter(torch.ones(4, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.up(x).amax((2, 3)) @ self.weight


class Noisy(Network):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + torch.rand_like(x))


class Several(Network):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        scores = super().forward(x)
        return scores, scores


def test_a_branch_on_data_is_named_by_its_line() -> None:
    with pytest.raises(UnreadableModel, match=r"test_evolve_inputs\.py, line \d+: its control flow depends on data"):
        quick(made(Branch))


def test_a_model_without_anything_to_replace_lists_what_is_opaque() -> None:
    with pytest.raises(
        ValueError, match=r"model: expected convolutions.*got only opaque ones: .*conv_transpose2d.*matmul"
    ):
        quick(made(Opaque))


def test_a_model_without_operations() -> None:
    with pytest.raises(
        ValueError, match="model: expected convolutions or linear layers, which can be replaced, got none"
    ):
        quick(nn.Sequential(nn.AvgPool2d(2), nn.Flatten()))


@pytest.mark.dear
def test_a_cap_below_the_smallest_child_names_that() -> None:
    with pytest.raises(
        ValueError,
        match=r"at_most: no child with flops of at most .* \(0.00 of the parent's\) was found; "
        r"the smallest found has flops 0\.\d+ of the parent's",
    ):
        quick(at_most={"flops": 1e-5})


@pytest.mark.parametrize(
    ("caps", "told"),
    [
        ({"flops": 0}, "at_most: flops: expected a number above 0, such as 0.8 or 50M, got 0"),
        ({"flops": "many"}, "at_most: flops: expected a number above 0, such as 0.8 or 50M, got 'many'"),
        ({"peak_mb": -1}, "at_most: peak_mb: expected a number above 0"),
        ({"watts": 3}, "at_most: expected costs among flops, params, .*, got watts"),
    ],
)
def test_caps_are_positive_and_known(caps: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        quick(at_most=caps)


def test_unknown_costs_are_named() -> None:
    with pytest.raises(ValueError, match=r"against: expected costs among flops, params, .*, got watts"):
        quick(against=("watts",))
    training = quick(budget=4, seeds=1, finalists=1).parent.evolution.training
    with pytest.raises(ValueError, match=r"against: expected costs among flops, params, .*, got watts"):
        Evolution(training, ("watts",))
    with pytest.raises(ValueError, match=r"caps: expected costs among flops, params, .*, got watts"):
        Evolution(training, (), {"watts": 1.0})


def test_a_recipe_that_diverges_is_reported() -> None:
    recipe = Recipe(epochs=2, batch=30, rate=1e30, momentum=0.0)
    with pytest.raises(
        ValueError, match=r"recipe: expected one that trains .*, got no child but failures: .*lower the rate"
    ):
        quick(recipe=recipe)


def test_a_training_that_diverges_is_a_failed_evaluation_and_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from lamcts.neural.train import Diverged, TrainObjective

    trained, calls = TrainObjective.train, []

    def unlucky(self: TrainObjective, point: dict[str, int], **given: object) -> object:
        calls.append(point)
        if len(calls) in (1, 3):
            raise Diverged("epoch 1: the loss is nan")
        return trained(self, point, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(TrainObjective, "train", unlucky)
    found = quick()
    assert [row["message"] == "" for row in found.result.rows()] == [False, True, False, True]
    assert "the loss is nan" in found.result.rows()[0]["message"]


def test_finalists_with_a_failed_training_are_reported_and_not_on_the_front(monkeypatch: pytest.MonkeyPatch) -> None:
    from lamcts.neural.train import Diverged

    train, failed = Evolution.train, []

    def unlucky(self: Evolution, point: dict[str, int], seed: int) -> object:
        if seed == 1 and (not failed or failed == [point]):
            failed.append(point)
            raise Diverged("epoch 1: the loss is inf")
        return train(self, point, seed)

    monkeypatch.setattr(Evolution, "train", unlucky)
    with pytest.warns(UserWarning, match="edits, seed 1: the training failed: epoch 1: the loss is inf"):
        found = quick()
    assert found.finalists[-1].point == failed[0] and found.finalists[-1].spread != found.finalists[-1].spread
    assert [child.point for child in found.front] == [found.finalists[0].point]
    assert None in found.to_dict()["finalists"][-1]["scores"]


def test_a_parent_that_cannot_be_trained_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    from lamcts.neural.train import Diverged

    train = Evolution.train

    def unlucky(self: Evolution, point: dict[str, int], seed: int) -> object:
        if not any(point.values()):
            raise Diverged("epoch 1: the loss is inf")
        return train(self, point, seed)

    monkeypatch.setattr(Evolution, "train", unlucky)
    with pytest.warns(UserWarning, match="the parent, seed 0: the training failed"):
        found = quick(seeds=1, finalists=1)
    assert "nan" in str(found).splitlines()[1] and "nan" not in f"{found.best.score}"
    assert found.parent.module() is not None


def test_a_model_that_is_not_deterministic_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="two passes in evaluation mode differ: the model is not deterministic"):
        quick(made(Noisy), budget=4, seeds=1, finalists=1)


def test_modes_of_modules_are_left_as_they_were() -> None:
    model = made()
    model.stem.eval()
    quick(model, budget=4, seeds=1, finalists=1)
    assert model.training and not model.stem.training and model.block.training


@pytest.mark.parametrize("shape", [(1, 6, 6), (8, 3, 6, 6), (8, 36)])
def test_a_batch_has_the_examples_of_the_data(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"batch: expected examples of shape \(n, 1, 6, 6\) as in the data, with the"):
        quick(batch=torch.zeros(shape))


def test_a_batch_of_one_example() -> None:
    with pytest.raises(
        ValueError, match=r"batch: expected two examples or more along the first axis, got shape \(1, 1"
    ):
        quick(batch=torch.zeros(1, 1, 6, 6))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "data: expected lamcts.neural.train.Data or three data sets .*, got none"),
        ([1, 2], "data: expected .*, got list of 2"),
        (data().train.x, "data: expected .*, got ndarray"),
        (([], [], []), "own, train: expected examples, got none"),
        (([1], [1], [1]), "own, train: expected pairs of an input and its class, got int"),
    ],
)
def test_wrong_data(given: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        quick(data=given)


def test_scores_that_do_not_fit_the_classes() -> None:
    with pytest.raises(
        ValueError, match=r"model: expected scores \(n, 3\) of .* of bright, got scores of shape \(8, 2\)"
    ):
        quick(made(nn.Sequential, nn.Flatten(), made(nn.Linear, 36, 2)))
    with pytest.raises(ValueError, match=r"model: expected scores \(n, 3\) .* got RuntimeError: .*channels"):
        quick(made(Network, 3))
    with pytest.raises(ValueError, match="got a tuple; wrap the model so that it returns the scores alone"):
        quick(made(Several))
    with pytest.raises(ValueError, match=r"model: expected a torch\.nn\.Module, got function; pass the module itself"):
        quick(made)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"budget": 6}, "budget: expected more than the 6 trainings of the parent and 2 finalists with 2 seeds, got 6"),
        ({"seeds": 0}, "seeds: expected a whole number of at least 1, got 0"),
        ({"finalists": 0}, "finalists: expected a whole number of at least 1, got 0"),
        ({"budget": 9.5}, "budget: expected a whole number"),
        ({"parents": 0}, "Evolve: parents: expected a whole number of at least 1"),
        ({"longest": 0}, "longest: expected a whole number of at least 1"),
        ({"device": "tpu9"}, "device: expected a device of torch, such as cpu or cuda, got 'tpu9'"),
    ],
)
def test_numbers_out_of_range(options: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        quick(**options)
