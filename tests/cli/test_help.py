"""Everything that a user can name on the command line or in a registry has a help text."""

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module, util
from pathlib import Path

import pytest

from lamcts import integrations, objectives, plot, pruners, samplers
from lamcts.cli import parser
from lamcts.cli import plot as plot_command
from lamcts.cli.parser import SETTING, TYPED
from lamcts.movement.costs.kernels import KERNELS
from lamcts.neural.cli import nas
from lamcts.spaces import kinds
from lamcts.study.peers import PEERS
from lamcts.utils.wings import wings

COMMANDS = [*parser()._subparsers._group_actions[0].choices, *(f"nas {name}" for name in nas.COMMANDS)]
OBJECTIVES = [*objectives.names(), "gym:Pendulum-v1"]
LONG = 120  # characters of a line of `lamcts list`, and of the description of a setting
ENTRY = r"^ *(?:\w+, )*{}(?:, \w+)*(?:: | : )"  # of a setting in a docstring
NEED_TORCH = pytest.mark.skipif(util.find_spec("torch") is None, reason="torch is not installed")


def fault(name: str, text: str | None) -> str | None:
    """Return what is wrong with the help text of a name, or None."""
    text = text or ""
    bare = text.partition(" (default")[0]
    if re.sub(r"[\W_]", "", name.lower()) == re.sub(r"[\W_]", "", bare.lower()) or not bare:
        return "has no help but its name"
    if not re.match(r"""[\w("'.`]""", bare):
        return f"has help without a beginning: {text}"
    whole = text.count("(") == text.count(")") and text.count("[") == text.count("]") and not text.count('"') % 2
    return None if whole and text.count("(default") <= 1 else f"has help that is cut off: {text}"


def line_fault(name: str, text: str | None) -> str | None:
    """Return what is wrong with a description in one line, without a full stop."""
    wrong = fault(name, text)
    if wrong is None and text and ("\n" in text or ". " in text or text.endswith(".") or len(text) > LONG):
        wrong = f"has more than a line: {text}"
    return wrong


def faults(argv: list[str]) -> Iterator[str]:
    """Yield what is wrong with the help of a command, and of each of its options."""
    parent = parser(argv)
    while parent.command.command is not None:
        parent = parent.command
    (commands,) = (action for action in parent._actions if isinstance(action, argparse._SubParsersAction))
    lines, name = {action.dest: action.help for action in commands._choices_actions}, parent.command.prog.split()[-1]
    options = [(action, action.option_strings or [action.dest]) for action in parent.command._actions]
    options = [pair for pair in options if not isinstance(pair[0], argparse._SubParsersAction)]
    found = {name: line_fault(name, lines[name])}
    for action, names in options:
        found[" ".join(names)] = fault(names[0], action.help)
        absent = [choice for choice in action.choices or () if str(choice) not in (action.help or "")]
        found |= {f"{names[0]} {choice}": "is not in the help of its option" for choice in absent}
    yield from (f"lamcts {' '.join(argv)}: {name} {wrong}" for name, wrong in found.items() if wrong)


def undescribed(owner: str, cls: type) -> Iterator[str]:
    """Yield what is wrong with the docstring of a class, and the settings that it and its bases do not describe."""
    docs = "\n".join(base.__doc__ or "" for base in cls.__mro__ if base is not object)
    if wrong := fault(cls.__name__, cls.__doc__ and cls.__doc__.split("\n\n")[0]):
        yield f"{owner} {wrong}"
    if cls.__doc__ and cls.__doc__.startswith(f"{cls.__name__}("):
        yield f"{owner} has no docstring but that of a dataclass"
    names = [each.name for each in fields(cls) if each.init] if hasattr(cls, "__dataclass_fields__") else []
    yield from (f"{owner}: {name} is not described" for name in names if not re.search(ENTRY.format(name), docs, re.M))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_every_option_has_a_help_text(command: str) -> None:
    assert [*faults(command.split())] == []


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_and_every_setting_of_it_has_a_help_text(name: str) -> None:
    row = objectives.entry(name)
    assert [*faults(["run", name])] == [] and line_fault(name, row.line) is None
    described = {action.dest: action.help for action in parser(["run", name]).command._actions}
    for setting in row.parameters.values():
        assert setting.kinds, f"{setting.name} has no type that a text can be read as"
        assert line_fault(setting.name, setting.text) is None
        assert setting.name in TYPED or setting.text in described[SETTING + setting.name]


def test_every_name_in_a_registry_has_a_line() -> None:
    lines = [*samplers.names().items(), *objectives.families().items(), *plot_command.KINDS.items()]
    lines += [(name, pruners.line(name)) for name in pruners.NAMES]
    lines += [(name, peer.line) for name, peer in PEERS.items()]
    lines += [(name, kernel.about) for name, kernel in KERNELS.items()]
    lines += [(name, line) for wing in wings() for _, rows in wing.lists() for name, line in rows]
    assert [(name, wrong) for name, line in lines if (wrong := line_fault(name, line))] == []
    peers = [peer.line for peer in PEERS.values()]
    assert len(peers) == len({*peers})


def test_every_sampler_pruner_and_kind_of_parameter_describes_its_settings() -> None:
    found = {f"sampler {name}": cls for name, cls in samplers.classes().items()}
    found |= {f"pruner {name}": cls for name, cls in pruners.NAMES.items()}
    found |= {f"kind {name}": cls for name, cls in kinds._kinds.items() if cls.__module__.startswith("lamcts.")}
    assert len(found) > 20 and [text for name, cls in found.items() for text in undescribed(name, cls)] == []


def test_every_figure_has_a_docstring() -> None:
    docs = {name: getattr(plot, name).__doc__ for name in plot.__all__}
    assert {name: wrong for name, doc in docs.items() if (wrong := fault(name, (doc or "").split("\n\n")[0]))} == {}


def test_every_public_class_and_function_of_an_integration_has_a_docstring() -> None:
    folder = Path(integrations.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                assert fault(node.name, ast.get_docstring(node)) is None, f"{path.name}: {node.name}"


@NEED_TORCH
def test_every_figure_class_data_set_and_proxy_of_a_wing_has_a_docstring() -> None:
    from lamcts.neural.proxies import PROXIES
    from lamcts.neural.train.datasets import DATASETS

    docs = {name: each.__doc__ for name, each in {**DATASETS, **PROXIES}.items()}
    docs |= {name: getattr(import_module(at), name).__doc__ for wing in wings() for name, at in wing.figures.items()}
    assert {name: wrong for name, doc in docs.items() if (wrong := fault(name, (doc or "").split("\n\n")[0]))} == {}
    classes = {name: getattr(import_module(at), name) for wing in wings() for name, at in wing.settings.items()}
    assert [text for name, cls in classes.items() for text in undescribed(name, cls)] == []


def test_the_list_and_the_help_of_every_command_need_no_torch() -> None:
    hide = "find = util.find_spec; util.find_spec = lambda name, *of: None if name == 'torch' else find(name, *of)"
    run = f"[parser([name]).format_help() for name in {COMMANDS}]; sys.exit(main(['list']))"
    code = f"import sys; from importlib import util; {hide}; sys.modules['torch'] = None; "
    code += f"from lamcts.cli import main, parser; {run}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_rules_on_help_catch_what_they_forbid() -> None:
    assert fault("--budget-unit", "budget_unit (default: 3)") and fault("x", "") and fault("x", None)
    assert fault("x", "; a program with its child processes") and fault("x", 'a nest such as "for i in N')
    assert fault("x", "bytes (default: 3) of a line (default: 4)") and line_fault("x", "One sentence. And another")
    assert fault("x", "bytes of a line (default: 3)") is None
