"""`lamcts nas table my.csv`, and the page about it."""

import json
import re
import shlex
from pathlib import Path

import pytest
from commands import said

from lamcts.journal import Journal

PAGE = (Path(__file__).parents[3] / "docs" / "architecture-table.md").read_text()
(COMMAND,) = re.findall(r"^lamcts (nas table .*)$", PAGE, re.MULTILINE)
WORDS = ["my.csv", "--parameters", "depth,width,op*"]


@pytest.fixture(autouse=True)
def _table(_in_an_empty_folder):
    exec(re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[0], {})


def test_the_command_of_the_page_searches_the_table_of_the_page(capsys):
    code, out, err = said(capsys, *shlex.split(COMMAND), "--quiet", "--no-plot")
    assert (code, err) == (0, "") and "objectives: accuracy (max), latency_ms (min)" in out
    result = json.loads(Path("my-objectives-accuracy-againstlatency_ms-lanas-seed0", "result.json").read_text())
    rows = [line.split(",") for line in Path("my.csv").read_text().splitlines()[1:]]
    best = result["best"]
    networks = {tuple(row[:6]): row[6:] for row in rows}
    assert len(rows) == 300 and len(result["front"]) > 3 and result["evaluations"] == 60
    value = networks[tuple(map(str, best["point"].values()))]
    assert [float(number) for number in value] == [best["value"]["accuracy"], best["value"]["latency_ms"]]
    code, out, _ = said(capsys, *shlex.split(COMMAND), "--quiet", "--no-plot", "--budget", "62")
    assert code == 0 and "62 evaluations, 60 of them done" in out


@pytest.mark.parametrize("search", ["auto", "lanas", "lanas-published", "alphax", "evolution", "reinforce", "local"])
def test_every_search_goes_on_where_it_stopped(capsys, search):
    words = ["nas", "table", *WORDS, "--objective=-accuracy", "--search", search, "--quiet", "--no-plot"]
    assert said(capsys, *words, "--budget", "24", "--patience", "3", "--out", "two")[0] == 0
    assert said(capsys, *words, "--budget", "24", "--out", "two")[0] == 0
    code, out, _ = said(capsys, *words, "--budget", "24", "--out", "one")
    one, two = (json.loads(Path(name, "result.json").read_text()) for name in ("one", "two"))
    assert code == 0 and one == two and "the table's best is 94.09" in out


def test_searches_of_networks_are_peers_by_name(capsys):
    words = ["compare", "nas-table:my.csv", *WORDS[1:], "--objective", "-accuracy", "--peers", "lanas,alphax,evolution"]
    code, out, _ = said(capsys, *words, "--budget", "12", "--seeds", "1", "--out", "here")
    assert code == 0 and {"lamcts", "lanas", "alphax", "evolution"} <= {line.split()[0] for line in out.splitlines()}
    samplers = [Journal.read(f"here/{name}-seed0.db").fingerprint["sampler"] for name in ("lanas", "alphax")]
    assert samplers[0]["inner"]["refit"] == 1 and samplers[1]["class"] == "AlphaX"
    code, _, err = said(capsys, *words[:-1], "lanaz", "--budget", "12")
    assert code == 2 and "lanas, lanas-published, alphax" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table", "my.csv"], "lamcts nas table: --objective: expected a column, NAME or -NAME, got none"),
        (["table", "my.csv", "--objective=-accuracy"], "--parameters: expected columns of my.csv out of depth, width,"),
        (["table", *WORDS, "--objective=-acc"], "my.csv: expected a column 'acc', got depth, width,"),
        (
            ["table", *WORDS[:2], "op*", "--objective=-accuracy"],
            "again; drop one, or pass --parameters op1,op2,op3,op4,",
        ),
        (["table", *WORDS, "--objective=-accuracy", "--against", "ms"], "my.csv: expected a column 'ms', got depth,"),
        (["table", "--space", "digits4096"], "'--space' was removed: name the table alone"),
        (["--space", "digits4096", "--search", "lanas"], "lamcts nas: expected one of table, train, supernet, proxy, "),
        (["--space", "nasnet", "--evaluate", "train"], "name the way to evaluate first: lamcts nas table, train, "),
    ],
)
def test_mistakes_are_one_line_with_the_cure(capsys, words, message):
    code, _, err = said(capsys, "nas", *words)
    assert code == 2 and err.count("\n") == 1 and message in err
