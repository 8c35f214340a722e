"""Architecture search: spaces of networks, and tables of trained ones as objectives. Numpy only."""

from lamcts.nas.convnet import ConvNet
from lamcts.nas.enas import EnasCell
from lamcts.nas.mobile import AccelNasBench, EfficientNet
from lamcts.nas.nasnet import NasNet

__all__ = [
    "AccelNasBench",
    "ConvNet",
    "EfficientNet",
    "EnasCell",
    "NasNet",
]
