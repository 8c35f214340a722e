"""A found network's file: its card names spaces and makers of ours, and nothing else."""

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

from lamcts.neural.train import checkpoints, load_network


@pytest.mark.parametrize("kind", ["TableObjective", "TradeOff", "Graph", "base", "__doc__", 3, None])
def test_a_card_that_names_no_space_of_networks_is_refused(tmp_path, kind):
    card = {"space": {"kind": kind, "settings": {}}, "point": {}, "build": {}}
    checkpoints.save(tmp_path / "net.npz", card, {})
    with pytest.raises(ValueError, match="expected a network with its card"):
        load_network(tmp_path / "net.npz")


def test_a_card_with_settings_of_another_space_is_refused(tmp_path):
    card = {"space": {"kind": "NasNet", "settings": {"path": "/etc/passwd"}}, "point": {}, "build": {}}
    checkpoints.save(tmp_path / "net.npz", card, {})
    with pytest.raises(ValueError, match="expected a network with its card"):
        load_network(tmp_path / "net.npz")
