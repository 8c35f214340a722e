"""Random streams: named by keys, apart from each other, saved and restored."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from lamcts import rng
from lamcts.rng import Purpose


def test_a_key_names_one_stream_and_other_keys_others() -> None:
    keys = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (Purpose.SESSION, 3), (Purpose.TREE, 3), (2**31,)]
    draws = [tuple(rng.stream(7, *key).random(3)) for key in keys]
    assert [tuple(rng.stream(7, *key).random(3)) for key in keys] == draws
    draws += [tuple(rng.stream(8, *key).random(3)) for key in keys]
    distinct = {keys.index((Purpose.SESSION, 3)), keys.index((Purpose.TREE, 3))}
    assert len(distinct) == 2 and len(set(draws)) == 2 * len(keys)


def test_streams_and_derived_seeds_never_change() -> None:
    # Recorded once: a resumed run depends on them, whatever the version of this package.
    assert rng.stream(0, Purpose.DESIGN).integers(2**63, size=2).tolist() == [8697063857760222071, 2917695245530671819]
    assert [rng.derive(0, Purpose.EVALUATION, i) for i in range(3)] == [952996942, 1012782191, 27437443]
    assert [int(purpose) for purpose in Purpose] == [0, 1, 2, 3, 4, 5]


def test_no_generator_is_spawned_since_a_restored_one_has_no_seed() -> None:
    package = Path(rng.__file__).parent
    assert [str(path) for path in package.rglob("*.py") if ".spawn(" in path.read_text(encoding="utf-8")] == []


def test_derived_seeds_fit_into_31_bits_and_differ() -> None:
    seeds = [rng.derive(2**63 - 1, Purpose.EVALUATION, i) for i in range(2000)]
    assert all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds)
    assert len(set(seeds)) == len(seeds) and max(seeds) > 2**30


def test_numpy_integers_name_the_same_stream_as_ints() -> None:
    assert rng.stream(5, np.int64(3)).random() == rng.stream(5, 3).random()
    assert rng.derive(5, np.int64(3)) == rng.derive(5, 3)


def test_a_restored_generator_goes_on_where_the_saved_one_was() -> None:
    generator = rng.stream(1)
    generator.random(11)
    generator.integers(10, dtype=np.uint32)  # leaves half a word in the buffer, which belongs to the state
    state = json.loads(json.dumps(rng.save(generator)))
    kept = json.dumps(state)
    expected = [*generator.integers(10, size=5, dtype=np.uint32), *generator.normal(size=5)]
    restored = rng.restore(state)
    assert [*restored.integers(10, size=5, dtype=np.uint32), *restored.normal(size=5)] == expected
    assert json.dumps(state) == kept


def test_fresh_seeds_differ_and_fit_into_63_bits() -> None:
    seeds = [rng.fresh_seed() for _ in range(100)]
    assert len(set(seeds)) == 100
    assert all(type(seed) is int and 0 <= seed < 2**63 for seed in seeds) and max(seeds) > 2**60


def test_the_global_generators_are_left_alone() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    rng.restore(rng.save(rng.stream(rng.fresh_seed(), 1))).random()
    rng.derive(1, 2)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


def test_negative_keys_are_refused() -> None:
    with pytest.raises(ValueError):
        rng.stream(0, -1)
