"""Networks in plain PyTorch from encodings. Needs torch."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.build.build import build
from lamcts.neural.build.factory import NetworkFactory
from lamcts.neural.build.mobile import lanet
from lamcts.neural.build.noise import Dropout, DropPath
from lamcts.neural.build.weights import initialise

__all__ = ["DropPath", "Dropout", "NetworkFactory", "build", "initialise", "lanet"]
