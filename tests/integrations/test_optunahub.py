"""The package for OptunaHub: laid out as its registry asks, and it loads and runs."""

import importlib.util
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

optuna = pytest.importorskip("optuna", reason="optuna is not installed: pip install '.[optuna]'")

try:
    import optunahub as HUB
except ImportError:
    HUB = None

ROOT = Path(__file__).parent.parent.parent
REGISTRY = ROOT / "integrations" / "optunahub" / "package"
PACKAGE = REGISTRY / "samplers" / "lamcts"
FIELDS = ["author", "title", "description", "tags", "optuna_versions", "license"]


def loaded(package="samplers/lamcts"):
    """Load the package as optunahub does; without optunahub, as Python does."""
    if HUB is not None:
        return HUB.load_local_module(package=package, registry_root=str(REGISTRY))
    spec = importlib.util.spec_from_file_location("hub_lamcts", REGISTRY / package / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_has_the_files_and_the_front_matter_that_the_registry_asks_for():
    assert {"README.md", "LICENSE", "__init__.py", "example.py", "requirements.txt"} <= {
        path.name for path in PACKAGE.iterdir()
    }
    front = (PACKAGE / "README.md").read_text().split("---\n")[1]
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert list(fields) == FIELDS
    assert fields["license"] == "MIT License" and fields["tags"].startswith("[sampler,")
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_its_page_has_all_that_the_sampler_takes():
    page = (PACKAGE / "README.md").read_text()
    names = loaded().LamctsSampler.__init__.__kwdefaults__
    assert [name for name in names if f"  - `{name}`: " not in page] == []


@pytest.mark.skipif(not hasattr(optuna.Trial, "set_constraint"), reason="Optuna 5 brings constraints by name")
def test_its_example_keeps_to_the_limit_and_finds_the_best(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "optunahub", SimpleNamespace(load_module=loaded))  # not from the network
    best = runpy.run_path(str(PACKAGE / "example.py"), run_name="__main__")["study"].best_trial
    assert best.params["layers"] == 6 and best.params["kind"] == "gelu" and best.value < 2.1
    assert "layers" in capsys.readouterr().out
