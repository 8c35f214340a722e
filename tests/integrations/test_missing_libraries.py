"""Without the library an integration says how to install it."""

import sys
from importlib import import_module

import pytest

from lamcts.errors import MissingExtra

LIBRARIES = [("ray", "ray"), ("mlflow", "mlflow-skinny"), ("wandb", "wandb")]
LIBRARIES += [("tensorboard", "tensorboard"), ("optuna", "optuna")]


@pytest.mark.parametrize(("library", "package"), LIBRARIES)
def test_the_message_names_the_extra(library, package, monkeypatch):
    for name in [
        name for name in sys.modules if f"{name}.".startswith((f"{library}.", f"lamcts.integrations.{library}."))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"package '{package}'.*pip install '\.\[{library}\]'"):
        import_module(f"lamcts.integrations.{library}")
