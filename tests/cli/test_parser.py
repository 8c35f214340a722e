"""Options that come from the signature of an objective, and the parts of the command line that need no run."""

import json
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from commands import said

from lamcts import objectives
from lamcts.cli.parser import Parser, settings_in
from lamcts.objectives.base import Entry


def build(
    count: int = 3,
    scale: float | None = None,
    shift: int | str | Sequence[float] | None = None,
    kind: Literal["a", "b"] = "a",
    sizes: Sequence[int] = (1,),
    more: dict[str, Any] | None = None,
    fast: bool = False,
    bare=2,
) -> Any:
    """Return nothing.

    count: number of things (3; things), in all. And more.
    scale: share of 100% (None: all).
    """


ROW = Entry("mine", "a test", build)


def read(*argv):
    one = Parser("test", "A test.")
    one.add_argument("objective")
    one.add_settings(ROW)
    return settings_in(one.parse_args(["mine", *argv]), ROW)


@pytest.mark.parametrize(
    ("argv", "value"),
    [
        ([], {}),
        (["--count", "5"], {"count": 5}),
        (["--scale", "5"], {"scale": 5.0}),
        (["--shift", "7"], {"shift": 7}),
        (["--shift", "reference"], {"shift": "reference"}),
        (["--shift=-1,2.5"], {"shift": [-1.0, 2.5]}),
        (["--kind", "b"], {"kind": "b"}),
        (["--sizes", "8,16"], {"sizes": [8, 16]}),
        (["--more", '{"gravity": -3}'], {"more": {"gravity": -3}}),
        (["--fast"], {"fast": True}),
        (["--no-fast"], {"fast": False}),
        (["--bare", "1.5"], {"bare": 1.5}),
        (["--bare", "x"], {"bare": "x"}),
    ],
)
def test_a_setting_is_read_as_the_type_of_its_annotation(argv, value):
    found = read(*argv)
    assert found == value and json.dumps(found) == json.dumps(value)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--count", "2.5"], "--count: expected a whole number, got '2.5'"),
        (["--scale", "x"], "--scale: expected a number, got 'x'"),
        (["--kind", "c"], "--kind: expected 'a' or 'b', got 'c'"),
        (["--sizes", "1,x"], "--sizes: expected numbers separated by commas, got '1,x'"),
        (["--more", "3"], "--more: expected a JSON object, got '3'"),
        (["--nope", "3"], "unrecognized arguments: --nope 3 (mine takes --count, --scale, --shift, --kind, --sizes,"),
    ],
)
def test_a_value_of_another_type_is_refused_in_one_line(capsys, argv, message):
    with pytest.raises(SystemExit):
        read(*argv)
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1


def test_help_has_descriptions_defaults_and_no_traps_for_argparse():
    one = Parser("test", "A test.")
    one.add_settings(ROW)
    text = " ".join(one.format_help().split())
    assert "--count N number of things (default: 3)" in text and "--scale X share of 100%" in text


def test_a_setting_named_like_an_option_of_ours_is_refused():
    one = Parser("test", "A test.")
    one.add_argument("--fast")
    with pytest.raises(ValueError, match="does not use itself, got 'fast': rename it"):
        one.add_settings(ROW)


@pytest.mark.parametrize(
    ("argv", "sure", "maybe"),
    [
        (["a", "--out", "b", "c"], ["a", "c"], []),
        (["--out=b", "c", "--flag", "d"], ["c", "d"], []),
        (["--tilt", "2", "c", "--out"], ["c"], ["2"]),
    ],
)
def test_positional_words_are_found_before_all_options_are_known(argv, sure, maybe):
    one = Parser("test", "A test.")
    one.add_argument("--out")
    one.add_argument("--flag", action="store_true")
    assert one.positionals_in(argv) == (sure, maybe)


def test_list_is_grouped_by_kind_with_one_line_each(capsys):
    code, out, _ = said(capsys, "list")
    groups = [part.splitlines() for part in out.split("\n\n")]
    titles = [lines[0] for lines in groups]
    assert code == 0 and "Test functions with known optima" in titles and "Control problems" in titles
    names = [line.split()[0] for lines in groups[1:] for line in lines[1:] if line.startswith("  ")]
    assert all(names.count(name) >= 1 for name in objectives.names())
    constrained = next(lines for lines in groups if lines[0].startswith("Problems with constraints"))
    listed = [line.split()[0] for line in constrained[1:]]
    assert listed.index("g3") < listed.index("g10") and listed.count("keane") == 1


def test_an_environment_of_gymnasium_without_its_prefix_is_recognised(capsys):
    code, _, err = said(capsys, "run", "Pendulum-v1")
    assert code == 2 and "did you mean 'gym:Pendulum-v1'?" in err


@pytest.mark.parametrize("command", ["run", "nas", "memory", "list", "show", "plot", "film", "report"])
def test_help_of_every_command_says_what_it_does(capsys, command):
    code, out, _ = said(capsys, command, "--help")
    overview = " ".join(said(capsys, "--help")[1].split())
    line = out.split("\n\n")[1].replace("\n", " ").strip(".")
    assert code == 0 and f"{command} {line[0].lower()}{line[1:]}" in overview
