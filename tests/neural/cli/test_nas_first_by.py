"""`lamcts nas --first-by`: a search that starts with the best networks by a proxy."""

import json

import pytest
from commands import said

pytest.importorskip("torch", reason="torch is not installed: pip install '.[torch]'")

QUICK = ["--space", "digits4096", "--no-plot", "--search", "random", "--first-by", "parameters", "--first-among", "12"]


def test_a_table_is_searched_from_the_best_by_a_proxy_and_resumes(capsys, tmp_path):
    code, out, _ = said(capsys, "nas", *QUICK, "--budget", "6", "--first", "3")
    assert code == 0 and "first 3 networks: the best by parameters of 12 random ones, scored on digits" in out
    folder = tmp_path / "digits4096-random-first-by-parameters-seed0"
    first = json.loads((folder / "result.json").read_text())
    code, out, _ = said(capsys, "nas", *QUICK, "--budget", "8")
    assert code == 0 and "8 evaluations, 6 of them done" in out, "the number of first networks is that of the run"
    assert first["evaluations"] == 6


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--first-by", "sinflow"], "did you mean 'synflow'"),
        (["--first", "5", "--first-among", "4"], "--first-among: expected at least the 5 networks at the start, got 4"),
        (["--evaluate", "proxy"], "--first-by: expected only with --evaluate table or train or supernet"),
    ],
)
def test_mistakes_are_reported_with_their_cure(capsys, more, told):
    code, _, err = said(capsys, "nas", *QUICK, "--budget", "10", *more)
    assert code == 2 and told in err


def test_a_table_whose_networks_cannot_be_built_is_refused(capsys, tables):
    code, _, err = said(capsys, "nas", *QUICK, "--space", "nasbench-macro", "--table", str(tables), "--budget", "10")
    assert code == 2 and "--first-by: expected a space whose networks can be built, nasnet, " in err
