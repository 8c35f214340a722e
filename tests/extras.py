"""Samplers as parameters of a test: those whose package is not installed skip, and say which extra brings it."""

from importlib.util import find_spec

import pytest


def samplers(*names):
    """Return the names, each marked to skip without its package."""
    return [pytest.param(name, marks=_mark(name.partition(":")[0])) for name in names]


def _mark(package):
    missing = package in ("cma", "nevergrad") and find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed: pip install '.[{package}]'")
