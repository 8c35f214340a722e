"""Options show themselves to tools, and words of other libraries are answered by ours."""

import inspect
from dataclasses import fields
from typing import Any

import pytest

import lamcts
from lamcts.study.options import RunSettings, documentation
from lamcts.utils.argument_hints import OTHERWISE, OURS, RENAMED


@pytest.mark.parametrize("function", [lamcts.minimize, lamcts.maximize, lamcts.run], ids=lambda f: f.__name__)
def test_every_option_is_in_the_signature_with_its_default(function: Any) -> None:
    shown = inspect.signature(function).parameters
    assert list(shown)[:3] == ["f", "space", "budget"] and shown["budget"].default is inspect.Parameter.empty
    for field in fields(RunSettings)[1:]:
        assert (shown[field.name].kind, shown[field.name].default) == (inspect.Parameter.KEYWORD_ONLY, field.default)
    assert ("maximize" in shown) == (function is lamcts.run) and "options" not in shown
    assert "n_init" in str(inspect.signature(function))  # what `help` and a prompt show


def test_every_option_is_documented_where_it_is_declared_and_in_the_docstring_of_each_function() -> None:
    assert [*documentation()] == [field.name for field in fields(RunSettings)]
    shown = str(lamcts.minimize.__doc__)
    assert [field.name for field in fields(RunSettings)[1:] if f"{field.name} : " not in shown] == []


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("bounds", r"the second argument, and bounds are one: minimize\(f, \[\(low, high\), ...\]"),
        ("args", "in the function"),
        ("maxiter", "called 'budget'"),
        ("max_evals", "called 'budget'"),
        ("n_trials", "called 'budget'"),
        ("n_jobs", "called 'workers'"),
        ("rng", "called 'seed'"),
        ("polish", "for gradients call scipy.optimize.minimize"),
        ("catch", "any exception is a failed evaluation; give_up="),
        ("direction", "lamcts.minimize or lamcts.maximize"),
    ],
)
@pytest.mark.parametrize("more", [{}, {"budget": 5}], ids=["alone", "with a budget"])
def test_a_word_of_another_library_is_answered_by_ours(word: str, answer: str, more: dict[str, Any]) -> None:
    for call in (lamcts.minimize, lamcts.maximize, lamcts.run):
        with pytest.raises(TypeError, match=f"unknown option '{word}'; .*{answer}"):
            call(lambda x: 0.0, [(0, 1)], **{word: 7}, **more)  # type: ignore[arg-type]


def test_the_table_answers_only_what_is_no_option_and_by_what_is_one() -> None:
    known = {field.name for field in fields(RunSettings)}
    assert set(RENAMED) <= known and not known & {*OURS, *OTHERWISE} and not {*OURS} & {*OTHERWISE}


def test_the_timeout_of_a_study_of_optuna_is_told_from_ours() -> None:
    for call in (lamcts.minimize, lamcts.maximize, lamcts.run):
        with pytest.raises(TypeError, match=r"'n_trials'; here it is called 'budget'; timeout= .*; seconds= "):
            call(lambda x: 0.0, [(0, 1)], n_trials=7, timeout=600)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"timeout: expected a number above 0.*; seconds= limits the whole run"):
        lamcts.minimize(lambda x: 0.0, [(0, 1)], budget=5, timeout=0)


def test_a_starting_point_or_a_budget_in_order_is_answered() -> None:
    with pytest.raises(ValueError, match=r"expected .* got \[0.5, 0.5\]; a starting point is given by name: x0="):
        lamcts.minimize(lambda x: 0.0, [0.5, 0.5], budget=5)
    with pytest.raises(TypeError, match=r"maximize: expected the function and the space in order.*x0=\.\.\."):
        lamcts.maximize(lambda x: 0.0, [(0, 1)], [0.5], budget=5)  # type: ignore[misc]
