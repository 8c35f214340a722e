"""The sweeper in the real Hydra, in processes of its own: Hydra keeps its state in globals."""

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lamcts

pytest.importorskip("hydra", reason="Hydra is not installed: pip install '.[hydra]'")

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from omegaconf import OmegaConf

from lamcts.integrations.hydra import read, swept_of

TASK = """
import hydra, math

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    if cfg.model.width == 7:
        raise ValueError("no sevens")
    loss = (math.log10(cfg.lr) + 3) ** 2 + (cfg.act != "gelu") + abs(cfg.model.width - 5)
    return {"loss": loss, "size": cfg.model.width**2, "seed": cfg.seed}

main()
"""
SWEPT = ["lr=tag(log,interval(1e-5,1e-1))", "act=choice(relu,gelu,'a b')", "model.width=range(1,9)"]


@pytest.fixture
def task(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "train.py").write_text(TASK)
    (tmp_path / "conf" / "config.yaml").write_text("lr: 0.1\nact: relu\nseed: 1\nmodel: {width: 3}\n")
    return tmp_path


def sweep(folder, *arguments, code=0, objectives="[loss]"):
    words = [f"hydra.sweeper.{word}" for word in ("seed=0", "batch=3", f"objectives={objectives}")]
    words += ["hydra.sweep.dir=out", "hydra/sweeper=lamcts"]
    command = [sys.executable, "train.py", "-m", *words, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def test_intervals_ranges_and_choices_are_searched_with_constraints_and_failures(task):
    sweep(task, "hydra.sweeper.budget=12", "hydra.sweeper.constraints=['size <= 40']", "seed=3", *SWEPT)
    rows = lamcts.load(task / "out" / "journal.db").rows()
    assert [row["trial"] for row in rows] == list(range(12))
    assert {row["act"] for row in rows} <= {"relu", "gelu", r"a\ b"}  # as Hydra writes them
    assert all(isinstance(row["model.width"], int) and 1e-5 <= row["lr"] <= 0.1 for row in rows)
    assert all(row["message"] == "EvaluationFailed: ValueError: no sevens" for row in rows if row["model.width"] == 7)
    found = (task / "out" / "optimization_results.yaml").read_text()
    assert "best_evaluated_params" in found and "feasible: true" in found
    assert "seed=3" in (task / "out" / "5" / ".hydra" / "overrides.yaml").read_text()


def test_the_same_command_with_a_journal_goes_on_with_what_is_missing(task):
    more = ["hydra.sweeper.journal=sweep.db", *SWEPT]
    sweep(task, "hydra.sweeper.budget=4", *more)
    said = sweep(task, "hydra.sweeper.budget=6", *more)
    assert "#4" in said and "#3 " not in said
    assert lamcts.load(task / "sweep.db").nfev == 6


def test_parameters_of_the_configuration_and_a_front(task):
    config = task / "conf" / "config.yaml"
    params = "hydra:\n  sweeper:\n    params:\n      model.width: range(1,9)\n      lr: 0.001\n"
    config.write_text(f"defaults:\n  - override hydra/sweeper: lamcts\n{config.read_text()}{params}")
    sweep(task, "hydra.sweeper.budget=6", objectives="{loss: min, size: min}")
    assert "solutions" in (task / "out" / "optimization_results.yaml").read_text()


def test_a_sweep_ends_where_no_point_is_left(task):
    sweep(task, "hydra.sweeper.budget=9", "act=choice(relu,gelu)")
    assert lamcts.load(task / "out" / "journal.db").nfev == 2
    assert "best_value" in (task / "out" / "optimization_results.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lr=0.1"], "expected parameters such as lr=interval"),
        (["lr=glob(*)"], "lr: expected a sweep over at least one value, got lr=glob(*)"),
        (["model.width=range(3,3)"], "model.width: expected a sweep over at least one value"),
    ],
)
def test_what_cannot_be_swept_is_an_error(task, arguments, words):
    assert words in sweep(task, *arguments, code=1)


def theirs(text):
    """Return what Hydra's own sweeper launches for an override of k."""
    ((*batch,),) = BasicSweeper.split_arguments([OverridesParser.create().parse_override(text)], None)
    return {job.removeprefix("k=") for (job,) in batch}


def ours(text):
    """Return all that our sweeper may launch for an override of k."""
    swept = swept_of(OverridesParser.create().parse_override(text))
    return {swept.text(swept.space.decode(row)) for row in swept.space.rows()}


WORDS = st.sampled_from(["relu", "a-b", r"a\ b", "a/b.c", r"\{x\}", "${k}", r"x\:y", r"a\,b", "-", "a1", "3d"])
TEXTS = ["12", "true", "1e3", "null", "nan", "", " ", "a#b", "größe", "[1]", "a,b", "it's", 'a"', "\\", "x=1"]
QUOTED = st.builds(
    lambda text, quote: QuotedString(text, quote).with_quotes(),
    st.sampled_from(TEXTS) | st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=6),
    st.sampled_from(Quote),
)
NUMBERS = st.sampled_from(
    ["0", "-3", "12", "1_000", "0.3", "-2.5", "1e3", "1.0", "1e-5", "nan", "-inf", "true", "False"]
)
VALUES = st.recursive(
    WORDS | QUOTED | NUMBERS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
        | st.lists(inner, max_size=2).map(
            lambda items: f"{{{','.join(f'b{i}:{each}' for i, each in enumerate(items))}}}"
        )
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(VALUES, min_size=2, max_size=4))
@example([*map(repr, TEXTS)])
def test_choices_launch_what_hydras_own_sweeper_does_and_keep_quotes_where_it_loses_them(items):
    given = ",".join(items)
    assert ours(f"k={given}") == theirs(f"k={given}")
    assert ours(f"k={given},null") == theirs(f"k={given},null")  # Hydra's functions refuse null
    for function in ("choice({})", "shuffle({})", "tag(a,choice({}))"):
        assert {repr(read(each)) for each in ours(f"k={function.format(given)}")} == {
            repr(read(each)) for each in items
        }


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["int({})", "float({})", "bool({})", "sort({})", "tag(log,int({}))", "shuffle(sort({}))"]),
    st.lists(st.sampled_from(["0", "1", "-3", "2.5", "1e3", "0.1", "7"]), min_size=1, max_size=4),
)
def test_casts_and_orders_launch_what_they_do_with_hydras_own_sweeper(function, items):
    text = "k=" + function.format("choice(" + ",".join(items) + ")")
    assert ours(text) == theirs(text)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["{}", "int({})", "float({})", "sort({})", "sort({},reverse=true)", "tag(log,{})", "shuffle({})"]),
    st.sampled_from([(1, 9), (9, 1, -2), (0, 1, 0.1), (1, 100, 10), (2, 3), (1, 2.5), (-0.3, 0.9, 0.3), (2, -1, -0.7)]),
)
def test_ranges_launch_what_they_do_with_hydras_own_sweeper(function, ends):
    if (function, ends) in [("int({})", each) for each in [(0, 1, 0.1), (-0.3, 0.9, 0.3), (2, -1, -0.7)]]:
        return  # a step of 0
    text = "k=" + function.format(f"range{ends}".replace(" ", ""))
    assert ours(text) == theirs(text)


def test_an_interval_that_is_cast_to_int_is_one_of_whole_numbers():
    def space(text):
        return swept_of(OverridesParser.create().parse_override(f"k={text}")).space

    for text in (
        "int(interval(1,12))",
        "tag(int,interval(1,12))",
        "tag(int,interval(0.5,12.5))",
        "int(interval(1.5,12))",
    ):
        assert repr(space(text)) == repr(lamcts.Int(1, 12))
    assert repr(space("int(tag(log,interval(1,100)))")) == repr(lamcts.Int(1, 100, log=True))
    assert repr(space("interval(1,12)")) == repr(space("float(interval(1,12))")) == repr(lamcts.Float(1, 12))


def test_quotes_globs_and_deletions_arrive_and_the_results_have_values(task):
    for name in ("one", "two"):
        (task / "conf" / "db").mkdir(exist_ok=True)
        (task / "conf" / "db" / f"{name}.yaml").write_text(f"name: {name}\n")
    train = TASK.replace(
        "    return {", "    print('SEEN', [cfg.db.name, cfg.act, cfg.order, cfg.get('extra')])\n    return {"
    )
    (task / "train.py").write_text(train)
    with (task / "conf" / "config.yaml").open("a") as file:
        file.write("order: 0\nextra: 1\n")
    swept = ["+db=glob(*)", "act=choice('12',\"größe #1\")", "lr=choice(0.3,0.1)", "model.width=choice(4,5)"]
    said = sweep(task, "hydra.sweeper.budget=20", "order=shuffle(['7',8,9,10,11,12,13])", "~extra", *swept)
    seen = {line for line in said.splitlines() if line.startswith("SEEN")}
    assert len(seen) == 4 and all("'7'" in line and "None" in line for line in seen)  # one order in all jobs
    assert {tuple(line.split("'")[i] for i in (1, 3)) for line in seen} == {
        (db, act) for db in ("one", "two") for act in ("12", "größe #1")
    }
    best = OmegaConf.load(task / "out" / "optimization_results.yaml").best_evaluated_params
    assert (best.lr, best["model.width"]) in [(0.1, 5), (0.3, 5), (0.1, 4)] and best.act in ("12", "größe #1")
