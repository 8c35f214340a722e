"""Settings of the wing's searches in a saved run."""

import pytest

from lamcts.journal.settings import from_identity, identity, is_ours
from lamcts.neural.metadnn import MetaDnn
from lamcts.neural.searches import alphax, lanas

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.searches.graph_reinforce import GraphReinforce


@pytest.mark.parametrize(
    "settings",
    [
        lanas.Leaf(model=MetaDnn("multistage", hidden=(8, 4), cuts=(0.5, 0.9)), draws=99),
        alphax.AlphaX(actions=alphax.Assign(parts=4), model=alphax.Ridge(2.0), dispatch="best"),
        alphax.AlphaX(actions=alphax.BuildCells(nodes=5)),
        GraphReinforce(rate=0.01, best=3),
    ],
    ids=repr,
)
def test_settings_come_back_equal(settings):
    assert is_ours(settings) and repr(from_identity(identity(settings))) == repr(settings)
