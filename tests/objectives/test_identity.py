"""Journals tell objectives apart by their fingerprints: plain JSON, the same for the same settings, else not."""

import json

import numpy as np
import pytest

from lamcts import objectives
from lamcts.objectives import base
from lamcts.objectives.protocol import digest

NAMES = [name for name, row in base.names().items() if not row.missing]
CHANGED = {"noise": 0.5, "rollouts": 2, "seeds": "fresh", "base_seed": 5, "initial_random": 1000.0, "shift": 3}
CHANGED |= {"permute": 5, "continuous": True, "constrained": True, "objective_count": 3}
CHANGED |= {"rotate": 4, "moments": "running", "episode_steps": 7}


@pytest.fixture
def make(monkeypatch, tables):
    monkeypatch.setenv("LAMCTS_DATA", str(tables))

    def made(name, **settings):
        return objectives.make(name, **settings)

    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_fingerprint_is_json_and_changes_with_every_setting_that_changes_values(name, make):
    settings = base.entry(name).settings
    own = make(name).fingerprint()
    assert json.loads(json.dumps(own)) == make(name).fingerprint()
    for setting, value in CHANGED.items():
        if setting in settings and settings[setting] != value:
            assert make(name, **{setting: value}).fingerprint() != own, setting


def test_names_alone_tell_objectives_apart(make):
    prints = {json.dumps(make(name).fingerprint(), sort_keys=True) for name in NAMES}
    same = {"swimmer": "swimmer-v5", "hopper": "hopper-v5", "halfcheetah": "halfcheetah-v5"}  # the same environments
    assert len(prints) == len(NAMES) - sum(name in NAMES for name in same)


def test_a_digest_knows_shapes_and_missing_arrays():
    flat, square = np.zeros(4), np.zeros((2, 2))
    found = [digest(flat), digest(square), digest(flat, None), digest(None), digest(None, flat), digest(np.ones(4))]
    assert len(set(found)) == len(found)
    assert digest([0, 0, 0, 0]) == digest(flat)
