"""A module, a batch and a budget in, training steps within it out."""

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch import nn  # noqa: E402

from lamcts.neural import memory  # noqa: E402
from lamcts.neural.memory import size_of, size_text  # noqa: E402
from lamcts.neural.memory.execution.measure import MeasuredStep  # noqa: E402
from lamcts.neural.memory.fitting import action_counts, curve, fitting, options_on  # noqa: E402
from lamcts.neural.memory.fitting.fitting import optimizer_word  # noqa: E402
from lamcts.neural.memory.seen import with_seconds  # noqa: E402

LABELS = torch.zeros(64, dtype=torch.long)
WITHIN = "36KiB"  # the network takes 42


def loss(output):
    return nn.functional.cross_entropy(output, LABELS)


def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = [layer for _ in range(2) for layer in (nn.Linear(16, 16), nn.GELU(), nn.Dropout())]
        return nn.Sequential(*layers, nn.Linear(16, 3))


def batch():
    return torch.linspace(-1, 1, 64 * 16).view(64, 16)


def fitted(budget=WITHIN, **given):
    rates = memory.Machine()  # a measured machine may give another plan
    given = {"loss": loss, "optimizer": "adam", "exchanges": 0, "machine": rates} | given
    return memory.fit(given.pop("model", None) or network(), given.pop("batch", batch()), budget, **given)


@pytest.fixture(scope="module")
def found():
    return fitted()


def gradients(model, context=None):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        loss(model(batch())).backward()
    return [one.grad for one in model.parameters()]


def test_the_plan_fits_the_budget_and_a_measured_step_holds_what_was_predicted(found):
    assert found.report.total_bytes <= size_of(WITHIN) < found.chosen.kept.total_bytes
    assert found.measured.held_bytes == found.measured.predicted_bytes < found.traced.saved_bytes
    assert not found.keeps_all and found.report.seconds > found.chosen.kept.seconds


def test_steps_within_it_have_the_gradients_of_plain_ones_time_and_again():
    model = network()
    found = fitted(model=model)
    expected = gradients(copy.deepcopy(model))
    for _ in range(2):
        with found as entered:
            assert entered is found
            model.zero_grad()
            assert all(map(torch.equal, gradients(model), expected))


def test_each_batch_may_come_with_labels_of_its_own():
    found, labels = fitted(), LABELS + 1
    with found, torch.random.fork_rng():
        nn.functional.cross_entropy(found.model(batch().flip(0)), labels).backward()
    assert all(one.grad is not None for one in found.model.parameters())


def test_what_is_entered_is_left_after_an_error(found):
    with pytest.raises(KeyError), found:
        raise KeyError("a step failed")
    model = found.model.eval()  # no hook is left that would miss the dropout
    assert model(batch()[:3]).requires_grad
    model.train()


def test_what_keeping_everything_takes_is_said_by_parts(found):
    parts, weights = found.parts(), 4 * sum(one.numel() for one in network().parameters())
    assert sum(parts.values()) == found.chosen.kept.total_bytes
    assert (parts["parameters"], parts["optimiser (adam)"]) == (weights, 2 * weights)
    assert parts["inputs"] == 4 * 64 * 16 and parts["activations and gradients"] == found.chosen.kept.peak_bytes
    lines, report, held = str(found).splitlines(), found.report, size_text(found.measured.held_bytes)
    assert lines[0] == f"budget 36.00 KiB; keeping everything takes {size_text(found.chosen.kept.total_bytes)}:"
    assert lines[1].startswith("  parameters 2.33 KiB, optimiser (adam) 4.65 KiB, inputs ")
    whole, part = size_text(report.total_bytes), size_text(report.peak_bytes)
    assert lines[2].startswith(f"plan 'greedy': {whole}, {part} of it activations and gradients; ")
    assert (
        lines[3] == f"{action_counts(report)}; a step recomputes {report.recomputes} and moves 0 B" and len(lines) == 6
    )
    most = size_text(found.measured_bytes)
    text = f"measured: {held} held after the forward pass, {held} predicted; {most} at most"
    assert lines[4].startswith(text) and lines[4].endswith(f" ms a step, {1e3 * report.seconds:.4g} modelled")


def test_the_time_of_a_step_is_measured_next_to_the_modelled_one(found):
    assert found.step_time.seconds > 0 and f"; {1e3 * found.step_time.seconds:.4g} ms a step, " in str(found)
    assert fitted(verify=False).step_time is None


def test_the_machine_of_measured_steps_is_measured_and_on_the_cpu_nothing_is_offloaded():
    found = fitted(machine=None)
    graph = with_seconds(found.traced.graph, found.measured.seconds)
    assert found.measured.seconds and 0 < sum(one.seconds > 0 for one in graph.steps) == len(graph.steps)
    assert not fitted().measured.seconds  # the given machine says what operations take
    assert not any("offload" in word for one in found.chosen.plans for word in one.plan.counts())
    drawn = curve(found.traced.graph, options=options_on(network()), exchanges=0)
    for plans in (fitted(verify=False).chosen.plans, drawn):
        assert not any("offload" in word for one in plans for word in one.plan.counts())
    far = memory.fit(network().to("meta"), batch().to("meta"), WITHIN, optimizer="adam", exchanges=0).chosen.plans
    assert any("offload" in word for one in far for word in one.plan.counts())


def test_a_step_that_takes_more_than_was_planned_for_is_no_proof(found):
    assert found.verified and "over the budget" not in str(found)
    held, room = found.measured.predicted_bytes, found.budget_bytes - found.measured_bytes + found.measured.peak_bytes
    found = replace(found, step_time=None)
    other = replace(found, measured=MeasuredStep(held + 1, held, room))
    assert other.verified is False and "more than planned for, leave more room" in str(other)
    other = replace(found, measured=MeasuredStep(held, held, room, 3.0, room + 4096))
    assert other.verified and "; 36.00 KiB at most, 40.00 KiB reserved by the allocator, 3.0 ms\n" in str(other)
    other = replace(found, measured=MeasuredStep(held, held))
    assert other.verified is other.measured_bytes is None and "the peak was not measured" in str(other)


def test_only_what_the_backward_pass_wants_is_counted(found):
    count, wanted = action_counts(found.report), len(set(found.traced.packed))
    assert count.recomputed > 0 and sum(count) <= len(found.plan.actions)
    assert sum(action_counts(found.chosen.kept)) <= wanted and action_counts(found.chosen.kept).kept == sum(
        action_counts(found.chosen.kept)
    )


def test_where_everything_fits_nothing_is_searched_and_steps_run_as_ever(monkeypatch):
    monkeypatch.setattr(fitting, "least_time", None)
    monkeypatch.setattr(fitting, "greedy", None)
    found = fitted("43KiB", exchanges=9)
    assert found.keeps_all and "that fits: everything is kept" in str(found)
    with found:  # of another shape, which a plan would refuse
        found.model.eval()(batch()[:5]).sum().backward()


def test_the_search_is_never_slower_than_what_was_known_and_one_seed_gives_one_plan(found):
    one, other = (fitted(exchanges=30, seed=3, verify=False) for _ in range(2))
    assert one.plan == other.plan and one.measured is one.verified is None and "not measured" in str(one)
    assert one.report.seconds <= found.report.seconds and one.report.total_bytes <= size_of(WITHIN)


def test_too_small_a_budget_names_the_smallest_and_that_one_works():
    with pytest.raises(ValueError, match=r"^budget: expected at least [\d.]+ KiB, .*got 5.00 KiB: raise it") as caught:
        fitted("5KiB")
    smallest = " ".join(str(caught.value).split()[4:6]).rstrip(",")
    assert fitted(smallest, verify=False).report.total_bytes <= size_of(smallest)
    with pytest.raises(ValueError, match=f"expected at least {smallest}"):
        fitted(size_of(smallest) - 50)


@pytest.mark.parametrize("given", ["images", None, [1, 2], {"x": "y"}])
def test_a_batch_without_a_tensor_is_refused(given):
    with pytest.raises(TypeError, match=f"batch: expected a tensor, .*got {type(given).__name__}"):
        fitted(batch=given)


def test_models_that_cannot_be_planned_for_are_refused():
    wrapped = nn.Module()
    wrapped.inner = object.__new__(nn.parallel.DistributedDataParallel)
    nn.Module.__init__(wrapped.inner)
    with pytest.raises(TypeError, match=r"got a DistributedDataParallel.*plan the module inside it"):
        fitted(model=wrapped)
    several = nn.DataParallel(network())
    several.device_ids = [0, 1]  # as with two GPUs
    with pytest.raises(TypeError, match=r"got a DataParallel over 2, whose replicas run in other threads"):
        fitted(model=several)
    sharded = type("FSDPIdentity", (type("FSDPModule", (), {}), nn.Identity), {})()
    with pytest.raises(TypeError, match="got a FSDPModule: its parameters come when they are used"):
        fitted(model=sharded)
    with pytest.raises(TypeError, match=r"expected a torch.nn.Module, got function"):
        fitted(model=network)
    with pytest.raises(ValueError, match="parameters that require gradients, got none"):
        fitted(model=network().requires_grad_(False))


def test_a_model_without_memory_is_planned_for_and_not_measured():
    with torch.device("meta"):
        model, images = network(), torch.empty(64, 16)
    found = fitted(model=model, batch=images, loss=None)
    assert found.report.total_bytes <= size_of(WITHIN) and found.measured is None


def test_torchs_optimisers_count_what_they_keep():
    weights = [nn.Parameter(torch.zeros(2))]
    kinds = torch.optim
    assert optimizer_word(kinds.SGD(weights)) == "sgd" and optimizer_word(None) == "none"
    assert optimizer_word(kinds.SGD(weights, momentum=0.9)) == "momentum"
    assert optimizer_word(kinds.AdamW(weights)) == optimizer_word("adam") == "adam"
    with pytest.raises(ValueError, match="got Adam with amsgrad: give the word that is nearest"):
        optimizer_word(kinds.Adam(weights, amsgrad=True))
    with pytest.raises(ValueError, match="got Adadelta"):
        fitted(optimizer=kinds.Adadelta(weights))
    with pytest.raises(ValueError, match="optimizer: expected one of none, sgd, momentum, adam, got 'lion'"):
        fitted(optimizer="lion")
