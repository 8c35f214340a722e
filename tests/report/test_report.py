"""`lamcts report`: the page is one file, whole for every kind of journal, and shows what a user wrote as text."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from commands import said

import lamcts
from lamcts.journal import Journal
from lamcts.optimizer import Optimizer

pytest.importorskip("plotly", reason="plotly is not installed: pip install '.[report]'")

EVIL = "<script>alert(1)</script>"
OWN = [
    "Importance of parameters",
    "Slices",
    "Contours",
    "Parallel coordinates",
    "Good and bad regions",
    "Proposers",
    "Time",
]
SPACE = lamcts.Space({"lr": lamcts.Float(1e-4, 1, log=True), EVIL: lamcts.Choice(["a", "<b>"]), "n": lamcts.Int(1, 9)})
HOW = {"seed": 0, "sampler": "uniform"}
MEGABYTES = 1e6
PLOTLY = 4.9 * MEGABYTES  # its script; ours comes on top


class Page(HTMLParser):
    """Reads a page: its titles, what it refers to, which tags are open, and the text outside of scripts."""

    def __init__(self, text):
        super().__init__()
        self.titles, self.links, self.open, self.shown, self.scripts = [], [], [], [], 0
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href", "action", "data", "poster")]
        self.scripts += tag == "script"
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h2", "h3"):
            self.titles.append(data)
        if self.open and self.open[-1] not in ("script", "style"):
            self.shown.append(data)


def loss(point):
    if point["n"] == 9:
        raise ValueError(f"{EVIL} & too deep")
    return float(np.log10(point["lr"]) ** 2 + point["n"] + 2 * (point[EVIL] == "a"))


def journal(name, function, budget=60, space=SPACE, **options):
    lamcts.minimize(function, space, budget=budget, journal=name, **{**HOW, **options})


def written(capsys, *names):
    code, out, err = said(capsys, "report", *names, "-o", "report.html")
    assert (code, err) == (0, "") and "written to report.html" in out
    text = Path("report.html").read_text(encoding="utf-8")
    return text, Page(text)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_plain_run_has_every_section_and_loads_nothing(capsys):
    journal("run.db", loss)
    text, page = written(capsys, "run.db")
    assert page.titles == ["Overview", "Best so far", "This run", "Best point", *OWN, "Failures", "Evaluations"]
    assert all(link.startswith("#") or link == "data:," for link in page.links)
    assert "default-src 'none'" in text and "url(" not in text.split("<script>")[0]
    assert len(text) < PLOTLY + 0.3 * MEGABYTES


def test_what_a_user_wrote_is_shown_and_never_run(capsys):
    journal("run.db", loss)
    text, page = written(capsys, "run.db")
    shown = " ".join(page.shown)
    assert EVIL in shown and f"ValueError: {EVIL} & too deep" in shown
    figures = re.findall(r"<script>draw\((.*?)\);</script>", text)
    assert page.scripts == 2 + len(figures) and not any("<" in figure for figure in figures)
    assert EVIL not in text and any(r"\u0026lt;script\u0026gt;alert(1)" in figure for figure in figures)


def test_each_split_says_what_it_asks(capsys):
    journal("run.db", lambda point: float(np.log10(point["lr"]) ** 2), budget=120, sampler="la_mcts:uniform")
    _, page = written(capsys, "run.db")
    shown = " ".join(page.shown)
    assert re.search(r"\ball\s+0\.5\d*\s+120\s+lr \S+ against \S+ \(\d+%\)", shown)


def test_every_run_has_its_regions_whether_a_tree_selects_them_or_not(capsys):
    for sampler in ("la_mcts:uniform", "uniform"):
        journal("run.db", lambda point: float(np.log10(point["lr"]) ** 2), budget=60, sampler=sampler)
        _, page = written(capsys, "run.db")
        assert "Good and bad regions" in page.titles
        Path("run.db").unlink()


def test_the_parameter_that_matters_is_first(capsys):
    space = lamcts.Space({name: lamcts.Float(0, 1) for name in ("idle", "worker", "other")})
    journal("run.db", lambda point: 10 * point["worker"] + point["other"], space=space, budget=80)
    text, _ = written(capsys, "run.db")
    bars = next(figure for figure in re.findall(r"<script>draw\((.*?)\);</script>", text) if '"bar"' in figure)
    assert '"y":["worker",' in bars


def test_constraints_and_several_objectives_have_their_sections(capsys):
    goals = {"objectives": {"cost": "min", "gain": "max"}, "constraints": ["stress <= 5"]}

    def both(point):
        return {"cost": point["n"], "gain": point["n"] * point["lr"], "stress": point["n"] + point["lr"]}

    journal("two.db", both, budget=40, **goals)
    journal("one.db", both, budget=40, objectives={"cost": "min"}, constraints=goals["constraints"])
    _, page = written(capsys, "two.db")
    first = ["Overview", "Hypervolume so far", "Violation of constraints", "This run", "Points of the front", "Front"]
    assert page.titles == [*first, *OWN, "Failures", "Evaluations"] and "knee (a compromise)" in page.shown
    text, page = written(capsys, "one.db")
    assert '"infeasible"' in re.findall(r"<script>draw\((.*?)\);</script>", text)[0]
    assert page.titles == [
        "Overview",
        "Best so far",
        "Violation of constraints",
        "This run",
        "Best point",
        "Metrics",
        *OWN,
        "Failures",
        "Evaluations",
    ]
    assert "stress <= 5" in " ".join(page.shown)


def test_runs_side_by_side_have_one_curve_a_search_and_their_own_sections(capsys):
    for seed in range(3):
        journal(f"here{seed}.db", loss, budget=30, seed=seed)
    journal("other.db", loss, budget=30, sampler="quadratic")
    text, page = written(capsys, "here0.db", "here1.db", "here2.db", "other.db")
    shared = ["Overview", "Best so far", "Importance of parameters"]
    assert page.titles[:4] == [*shared, "here0"] and page.titles.count("Proposers") == 4
    curve = re.findall(r"<script>draw\((.*?)\);</script>", text)[0]
    assert "median and quartiles of 3 seeds" in curve and '"name":"other"' in curve


def test_runs_with_other_goals_are_named_and_not_compared(capsys):
    journal("up.db", loss, budget=25)
    two = {"cost": "min", "gain": "max"}
    journal("cost.db", lambda point: {"cost": point["n"], "gain": point["lr"]}, budget=25, objectives=two)
    _, page = written(capsys, "up.db", "cost.db")
    assert "Not shown, as they have no evaluations or other goals: cost." in " ".join(page.shown)


def test_journals_with_little_in_them_have_a_page(capsys):
    opt = Optimizer(SPACE, **HOW)
    Journal.open("empty.db", opt.fingerprint()).close()
    _, page = written(capsys, "empty.db")
    assert "This journal has no evaluations yet." in page.shown

    def fails(point):
        raise ValueError(EVIL)

    journal("failed.db", fails, budget=4)
    _, page = written(capsys, "failed.db")
    shown = " ".join(page.shown)
    assert "No evaluation has succeeded yet." in shown and EVIL in shown
    journal("short.db", loss, budget=3)
    _, page = written(capsys, "short.db")
    assert "Too few evaluations" in " ".join(page.shown)


def test_a_space_that_a_journal_cannot_tell_is_shown_as_it_is_encoded(capsys):
    table = lamcts.Finite([f"net{i}" for i in range(40)], features=np.random.default_rng(0).random((40, 2)))
    journal("run.db", lambda point: float(len(point)), space=table, budget=30)
    _, page = written(capsys, "run.db")
    assert "Coordinates are encoded in [0, 1]" in " ".join(page.shown)


def test_what_is_no_journal_is_one_line_and_no_page(capsys):
    Path("damaged.db").write_bytes(b"no journal")
    journal("run.db", loss, budget=3)
    for words in (["damaged.db"], ["nowhere.db"], ["run.db", "-o", "page.txt"]):
        code, _, err = said(capsys, "report", *words)
        assert code == 2 and err.startswith("lamcts report: ") and err.count("\n") == 1
    assert not list(Path().glob("*.html*"))


def test_without_plotly_the_message_names_the_extra(capsys, monkeypatch):
    journal("run.db", loss, budget=3)
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)
    code, _, err = said(capsys, "report", "run.db")
    assert code == 2 and "pip install '.[report]'" in err


@pytest.mark.dear
def test_many_evaluations_are_thinned_and_the_page_says_so(capsys):
    n, space = 6_000, lamcts.Box(0, 1, dim=10)
    opt = Optimizer(space, **HOW)
    x = np.random.default_rng(0).random((n, 10))
    opt.tell_points(list(x), np.square(x - 0.3).sum(1).tolist())
    with Journal.open("run.db", opt.fingerprint()) as long:
        long.write(opt.delta(long.mark))
    text, page = written(capsys, "run.db")
    shown = " ".join(page.shown)
    assert "2500 of 6000 evaluations are drawn as dots" in shown and "At most 600 dots each" in shown
    assert len(text) < PLOTLY + 1.0 * MEGABYTES


def test_pruned_known_and_inactive_are_called_what_they_are(capsys):
    space = {"kind": lamcts.Choice(["a", "b"]), "depth": lamcts.Int(1, 9, when={"kind": "b"}), "x": lamcts.Float(0, 1)}
    known = [({"kind": "b", "depth": 5, "x": 0.5}, 3.0)] * 1

    def pruned(point):
        if point["kind"] == "b":
            raise lamcts.Pruned
        return point["x"]

    journal("run.db", pruned, budget=20, space=space, known=known)
    text, page = written(capsys, "run.db")
    shown = " | ".join(page.shown)
    assert '"pruned, no value"' in text and '"failed, no value"' not in text
    result = lamcts.load("run.db")
    count = int(result.pruned)
    assert count > 0 and f"| pruned | {count} |" in shown and "| failed | pruned | improvements |" in shown
    best = int(result.history.trial[np.nanargmin(result.history.values)])
    assert f"| found in | trial {best} |" in shown
    assert "| depth |" not in shown.partition("Best point")[2].partition("Importance")[0]
    assert not re.search(r"<td>depth</td><td>None</td>|<th>depth</th><td>None</td>", text)


def test_evaluations_are_a_table_that_sorts_and_filters(capsys):
    journal("run.db", loss, budget=6)
    text, _ = written(capsys, "run.db")
    table = text[text.index('<div class="table tall">') :]
    assert table.count("<tr>") == 1 + 6 and 'oninput="keep(this)"' in table
    assert [*re.findall(r'<th onclick="sortBy\(this\)">([^<]*)', table)][:2] == ["trial", "value"]
