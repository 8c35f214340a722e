"""Recomputed random numbers come from the generator of the device that drew them. No test needs a GPU."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from lamcts.neural.memory.execution import generators  # noqa: E402
from lamcts.neural.memory.execution.generators import check_result, devices_of, generators_of, state_before  # noqa: E402
from lamcts.neural.memory.execution.recipe import Operation  # noqa: E402

RAND, DROPOUT = torch.ops.aten.rand.default, torch.ops.aten.native_dropout.default
CPU, FIRST, SECOND = torch.device("cpu"), torch.device("cuda:0"), torch.device("cuda:1")


@pytest.fixture
def cards(monkeypatch):
    """Stub two cards whose generators are CPU generators; the second is current."""
    made = tuple(torch.Generator().manual_seed(seed) for seed in (1, 2))
    started = []
    monkeypatch.setattr(torch.cuda, "default_generators", ())
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)

    def init():
        started.append(True)
        monkeypatch.setattr(torch.cuda, "default_generators", made)

    monkeypatch.setattr(torch.cuda, "init", init)
    return made


class Drawing:
    """A random operation on a stubbed card: draws from its generator."""

    tags = (torch.Tag.nondeterministic_seeded,)
    _schema, _overloadpacket = torch.ops.aten.rand.default._schema, torch.ops.aten.rand

    def __init__(self, generator):
        self.generator = generator

    def __call__(self, size, device):
        return torch.rand(size, generator=self.generator)


def recomputed(function, args, kwargs, random):
    return Operation(function, args, kwargs, frozenset(), 0, False, random).run(None, {})


def values(storage):
    return torch.empty(0).set_(storage)


def test_a_factory_draws_the_same_numbers_again_on_the_device_of_its_keyword(cards):
    draw, args, kwargs = Drawing(cards[0]), ([4],), {"device": FIRST}
    random = state_before(draw, args, kwargs)
    expected = draw(*args, **kwargs)
    after, cpu = cards[0].get_state(), torch.get_rng_state()
    assert torch.equal(values(recomputed(draw, args, kwargs, random)), expected)
    assert torch.equal(cards[0].get_state(), after) and torch.equal(torch.get_rng_state(), cpu)


@pytest.mark.parametrize(
    ("kwargs", "card"), [({"device": FIRST}, 0), ({"device": SECOND}, 1), ({"device": torch.device("cuda")}, 1)]
)
def test_the_keyword_names_the_device(cards, kwargs, card):
    [(generator, state)] = state_before(RAND, ([4, 1],), kwargs)
    assert generator is cards[card] and torch.equal(state, cards[card].get_state())


def test_a_text_names_the_device_too_and_none_is_the_cpu(cards):
    assert devices_of(([4],), {"device": "cuda:1"}) == [SECOND]
    for kwargs in ({}, {"device": None}, {"device": CPU}):
        assert generators_of(([4],), kwargs) == [torch.default_generator]


def test_an_explicit_generator_goes_before_devices(cards):
    own = torch.Generator().manual_seed(3)
    assert generators_of(([4],), {"device": FIRST, "generator": own}) == [own]
    assert generators_of(([4], own), {}) == [own]


def test_each_device_of_an_operation_is_saved(cards):
    with FakeTensorMode():
        args = (torch.empty(2, device="cuda:1"), [torch.empty(2), torch.empty(2, device="cuda:0")])
    assert generators_of(args, {}) == [cards[1], torch.default_generator, cards[0]]
    assert [one for one, _ in state_before(DROPOUT, args, {})] == [cards[1], torch.default_generator, cards[0]]


def test_several_generators_are_restored_and_left_as_they_were(cards):
    random = tuple((one, one.get_state()) for one in cards)
    expected = [torch.rand(3, generator=one) for one in cards]
    after = [one.get_state() for one in cards]
    with generators.restored(random):
        assert all(torch.equal(torch.rand(3, generator=one), it) for one, it in zip(cards, expected, strict=True))
    assert all(torch.equal(one.get_state(), it) for one, it in zip(cards, after, strict=True))


def test_deterministic_operations_and_the_meta_device_save_none(cards):
    assert state_before(torch.ops.aten.relu.default, (torch.ones(2),), {}) == ()
    assert state_before(RAND, ([4],), {"device": torch.device("meta")}) == ()


def test_a_device_without_known_generators_is_refused():
    with pytest.raises(RuntimeError, match=r"random operation on vulkan: expected .*: pass a generator"):
        generators_of(([4],), {"device": torch.device("vulkan")})


def test_a_result_on_a_device_that_no_argument_names_is_refused():
    random = state_before(RAND, ([4],), {})
    with FakeTensorMode():
        there = torch.empty(2, device="cuda:1")
    with pytest.raises(RuntimeError, match=r"^mask: expected random numbers on cpu, .*got a result on cuda:1"):
        check_result(random, (there,), "mask")
    check_result(random, torch.ones(2), "mask")
    check_result((), (there,), "mask")
