"""The identity of runs on tables: settings that change values change the fingerprint."""

import pytest

from lamcts import objectives


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("nats-size", {"dataset": "cifar100"}),
        ("nats-size", {"guide": "val"}),
        ("nats-size-cost", {"dataset": "cifar100"}),
        ("nats-size-cost", {"against": "mflops"}),
    ],
)
def test_a_setting_that_changes_values_changes_the_fingerprint(name, settings, tables):
    given = {"table": tables}
    assert objectives.make(name, **given).fingerprint() == objectives.make(name, **given).fingerprint()
    assert objectives.make(name, **(given | settings)).fingerprint() != objectives.make(name, **given).fingerprint()
