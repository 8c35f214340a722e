"""Trainings within a memory budget: the same weights in less memory, or a failed evaluation with its reason."""

import pickle
import threading
from pathlib import Path

import pytest

import lamcts
from lamcts.neural import memory, nas
from lamcts.neural.train import Recipe, TrainObjective, load_network, save_network, train

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from lamcts.neural.build import Dropout, DropPath, NetworkFactory  # noqa: E402
from tests.neural.few_digits import few_digits  # noqa: E402

SPACE = nas.ConvNet(layers=4)
POINT = SPACE.parse("32-32-32-32")
WIDE = SPACE.parse("96-96-96-96")
ROOMY, TIGHT = memory.Budget("64MiB"), memory.Budget("2MiB")  # keeping everything takes 2.5 MiB


@pytest.fixture(scope="module")
def data():
    return few_digits(61, 30, 20)  # batches of 31 and of 30


def objective(data, budget=None, folder=None, **recipe):
    recipe = Recipe(**({"epochs": 2, "batch": 31} | recipe))
    return TrainObjective(SPACE, data, recipe, sizes={"stages": 2}, memory_budget=budget, folder=folder)


def results(trained):
    weights = torch.cat([one.detach().flatten() for one in trained.net.state_dict().values()])
    return [(epoch.train_loss, epoch.valid_loss) for epoch in trained.epochs], trained.test_loss, weights.tolist()


RECIPES = [{}, {"mixup": 0.2, "clip": 1.0}, {"optimiser": "adamw", "average": 0.9}, {"precision": "bfloat16"}]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_a_network_above_the_budget_is_trained_to_the_same_bits_in_less_memory(data, recipe):
    whole = objective(data, ROOMY, **recipe).train(POINT)
    budget = memory.Budget(whole.planned_peak_bytes * 9 // 10)
    trained = objective(data, budget, **recipe).train(POINT)
    assert results(trained) == results(whole) == results(objective(data, **recipe).train(POINT))
    assert trained.planned_peak_bytes <= budget.budget_bytes < whole.planned_peak_bytes


def test_a_network_that_fits_is_trained_without_a_plan(data, monkeypatch):
    found, fitted = [], memory.Budget.plan
    monkeypatch.setattr(memory.Budget, "plan", lambda *given, **how: found.append(fitted(*given, **how)) or found[-1])
    entered = []
    monkeypatch.setattr(memory.Fitted, "__enter__", entered.append)
    objective(data, ROOMY).train(POINT)
    assert [one.keeps_all for one in found] == [True, True] and not entered  # one for each size of a batch


def test_a_search_goes_on_after_a_network_that_cannot_be_made_to_fit(data, tmp_path):
    f = objective(data, TIGHT, epochs=1)
    with pytest.raises(lamcts.neural.train.OutOfMemory, match=r"memory: of the budget of 2.00 MiB, data .* at least"):
        f.train(WIDE)
    how = {"seed": 0, "x0": [WIDE, POINT], "n_init": 2, "journal": tmp_path / "run.db", "sampler": "uniform"}
    result = lamcts.maximize(f, f.space, budget=2, **how)
    assert result.x == POINT and list(result.history.messages) == [0]
    assert "OutOfMemory: memory: of the budget of 2.00 MiB" in result.history.messages[0]
    again = lamcts.maximize(f, f.space, budget=3, **how)
    assert again.nfev == 3
    with pytest.raises(lamcts.JournalError, match="memory_bytes"):
        lamcts.maximize(objective(data, ROOMY, epochs=1), f.space, budget=4, **how)


def test_the_model_card_has_the_budget_and_the_peak_of_the_plan(data, tmp_path):
    f = objective(data, TIGHT, folder=tmp_path / "trained")
    peak = f.train(POINT).planned_peak_bytes
    card = save_network(tmp_path / "net.npz", f, POINT)
    assert card["memory"] == {"budget_bytes": 2 * 2**20, "peak_bytes": peak} and peak <= 2 * 2**20
    assert f.cost(POINT)["peak_mb"] == peak / 1e6
    assert objective(data, TIGHT, folder=tmp_path / "trained").train(POINT).planned_peak_bytes == peak  # not again
    assert load_network(tmp_path / "net.npz")[1] == card
    plain = objective(data, folder=tmp_path / "trained")
    plain.train(POINT)
    assert "memory" not in save_network(tmp_path / "net.npz", plain, POINT)


def test_a_training_that_was_stopped_resumes_under_its_plan(data, tmp_path):
    class Stop:
        def report(self, step, value):
            raise lamcts.Pruned("stopped")

    with pytest.raises(lamcts.Pruned):
        objective(data, TIGHT, tmp_path).train(POINT, trial=Stop())
    assert results(objective(data, TIGHT, tmp_path).train(POINT)) == results(objective(data).train(POINT))


@pytest.mark.dear
def test_the_example_of_the_page_is_short_and_searches_within_its_budget(capsys):
    page = (Path(__file__).parents[3] / "docs" / "train-networks.md").read_text()
    block = page.split("## Networks larger than the device")[1].split("```python\n")[1].split("```")[0]
    assert len(block.splitlines()) <= 10
    names = {}
    exec(compile(block, "train-networks.md", "exec"), names)
    f, result = names["f"], names["result"]
    assert f.memory_budget.budget_bytes == 9 * 2**20 and result.success and not result.history.messages
    peak, planned = capsys.readouterr().out.split(" of ")
    assert float(peak) <= float(planned.split()[0])
    whole = TrainObjective(f.architectures, f.data, f.recipe, sizes=f.sizes)
    data_mb = sum(array.nbytes for part in f.data.parts.values() for array in part) / 1e6
    needed = [whole.cost(point)["peak_mb"] + data_mb for point in result.history.points]
    assert max(needed) > f.memory_budget.budget_bytes / 1e6 > min(needed)  # one needs a plan, another does not


class Dropped(nn.Module):
    """A chain with dropped paths, which begin in the second epoch, and dropout."""

    def __init__(self):
        super().__init__()
        layers = [[nn.Conv2d(1 if i == 0 else 32, 32, 3, padding=1), nn.ReLU(), DropPath()] for i in range(4)]
        self.body = nn.Sequential(*[one for three in layers for one in three], Dropout(0.5))
        self.head = nn.Linear(32 * 64, 10)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def test_random_layers_draw_the_same_numbers_under_a_plan(data):
    factory = NetworkFactory(lamcts.Space({"a": lamcts.Int(1, 2)}), lambda point: Dropped(), "dropped")

    def trained(budget):
        return TrainObjective(factory, data, Recipe(epochs=3, drop_path=0.5), memory_budget=budget).train({"a": 1})

    whole = trained(ROOMY)
    part = trained(memory.Budget(whole.planned_peak_bytes * 9 // 10))
    assert results(part) == results(whole) == results(trained(None))
    assert part.planned_peak_bytes < whole.planned_peak_bytes


def test_a_step_that_cannot_be_traced_is_a_failed_training_with_its_reason(data):
    class Branches(nn.Linear):
        def forward(self, x):
            return super().forward(x.flatten(1)) * (1 if float(x.sum()) > 0 else 2)

    factory = NetworkFactory(lamcts.Space({"a": lamcts.Int(1, 2)}), lambda point: Branches(64, 10), "branches")
    f = TrainObjective(factory, data, Recipe(epochs=1), memory_budget=TIGHT)
    with pytest.raises(lamcts.neural.train.TrainingFailed, match=r"cannot be planned, .*without a memory budget"):
        f.train({"a": 1})


def test_trainings_in_threads_have_the_bits_of_one_alone(data):
    whole, found = results(objective(data).train(POINT)), []
    threads = [
        threading.Thread(target=lambda: found.append(results(objective(data, TIGHT).train(POINT)))) for _ in range(2)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == [whole, whole]


def test_data_and_averaged_weights_count(data):
    net = objective(data).build(POINT)
    with pytest.raises(lamcts.neural.train.OutOfMemory, match=r"weights take 28.* KiB, the budget is 20"):
        train(net, data, Recipe(), memory_budget=memory.Budget("20KiB"))
    one, other = (objective(data, ROOMY, average=share).train(POINT).planned_peak_bytes for share in (0.0, 0.9))
    assert other - one == sum(each.nbytes for each in net.state_dict().values())


def test_a_budget_travels_to_other_processes_and_a_text_is_no_budget(data):
    assert pickle.loads(pickle.dumps(TIGHT)) == TIGHT and memory.Budget(7).budget_bytes == 7
    with pytest.raises(ValueError, match=r"got '2MiB'; pass lamcts.neural.memory.Budget\('2MiB'\)"):
        objective(data, "2MiB")
    with pytest.raises(ValueError, match="budget: expected a size of memory"):
        memory.Budget("much")
