"""Searches of architectures are found by name, and users add their own."""

import pytest
from commands import said

import lamcts
from lamcts.neural import nas
from lamcts.neural.searches import network_searches


@pytest.mark.parametrize("name", network_searches.names())
def test_every_search_proposes_networks(name):
    space = (nas.IoCell(4) if name == "graph_reinforce" else nas.Digits4096()).space
    optimizer = lamcts.Optimizer(space, seed=0, **network_searches.names()[name].settings(space) | {"n_init": 3})
    points = [trial.point for trial in optimizer.ask(3)]
    assert len(points) == 3 and all(set(point) == set(points[0]) for point in points)


def test_a_search_of_the_user_is_a_name_of_the_command_line(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(network_searches, "_searches", network_searches.names())

    @network_searches.register("mine", "a search of mine")
    def mine(space):
        return network_searches.names()["random"].settings(space)

    code, _, err = said(
        capsys, "nas", "table", "digits4096", "--search", "mine", "--budget", "5", "--quiet", "--no-plot"
    )
    assert (code, err) == (0, "") and (tmp_path / "digits4096-mine-seed0" / "result.json").exists()
    with pytest.raises(ValueError, match="got 'mine', which is taken"):
        network_searches.register("mine", "another")(mine)
