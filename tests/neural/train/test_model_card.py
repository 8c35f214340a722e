"""A found network's file: its card names spaces and makers of ours, and nothing else."""

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.train import checkpoints, load_network

CARDS = [{"kind": kind, "settings": {}} for kind in ("TableObjective", "TradeOff", "Graph", "base", "__doc__", 3, None)]
CARDS += [{"kind": "NasNet", "settings": {"path": "/etc/passwd"}}]


@pytest.mark.parametrize("space", CARDS, ids=str)
def test_a_card_that_names_no_space_of_networks_or_other_settings_is_refused(tmp_path, space):
    checkpoints.save(tmp_path / "net.npz", {"space": space, "point": {}, "build": {}}, {})
    with pytest.raises(ValueError, match="expected a network with its card"):
        load_network(tmp_path / "net.npz")
