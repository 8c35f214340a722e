"""A sampler whose library is not installed is refused before anything is evaluated or written."""

import sys

import pytest
from commands import said

import lamcts


@pytest.mark.parametrize("name", ["cma", "nevergrad"])
def test_a_sampler_without_its_library_is_refused_at_once(name, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(lamcts.MissingExtra, match=rf"pip install '\.\[{name}\]'"):
        lamcts.Optimizer(lamcts.Box(0, 1, dim=2), sampler=name)
    code, out, err = said(capsys, "run", "ackley", "--dim", "2", "--budget", "12", "--sampler", name)
    assert code == 2 and f"'.[{name}]'" in err and err.count("\n") == 1 and out == ""
    assert list(tmp_path.iterdir()) == []
