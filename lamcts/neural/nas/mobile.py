"""Networks of mobile blocks: chains of inverted residual blocks with variable expansion, kernel and depth.

Thesis, section 2.1.1 (after Tan and Le, 2019). A block's text is `r2_k3_s1_e6_se0`, as in the code of EfficientNet:
repeats, kernel, stride, expansion, squeeze-and-excitation.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lamcts.neural.nas.base import ArchitectureSpace, Graph, Point, chain
from lamcts.spaces.choice import Choice
from lamcts.spaces.product import Space
from lamcts.types import Floats, whole_number

SHORT = {"l": "r", "k": "k", "s": "s", "e": "e", "se": "se"}  # a parameter's name in a text, in its order
BLOCKS = 5  # of the supernet of Once-for-All, which the thesis used
EFFICIENT = {"l": (2, 3, 4), "e": (3, 4, 6), "k": (3, 5, 7), "s": (1, 2)}  # see EfficientNet
ACCEL = {"e": (1, 4, 6), "k": (3, 5), "l": (1, 2, 3), "se": (0, 1)}  # of all blocks but the layers of LONGER
ACCEL_BLOCKS = 7  # as in MnasNet
LONGER = 5  # the block that may have a fourth layer
FILES_NOT_READ = ("arch", "arch_fields", "platform", "platform_metrics")  # arrays of the table that are no metric


class MobileBlocks(ArchitectureSpace):
    """A chain of blocks. `block2_k` is the kernel of block 2; all points are different networks."""

    def __init__(self, blocks: Sequence[Mapping[str, tuple[int, ...]]]) -> None:
        """Take the values of each block's parameters, by their short names: e, k, l (layers), s (stride), se."""
        self.blocks = [dict(block) for block in blocks]
        fields = self.blocks[0]
        block = "_".join(f"{short}<n>" for field, short in SHORT.items() if field in fields)
        self.notation = f"{len(self.blocks)} blocks {block}"
        self.space = Space(
            {
                f"block{i}_{field}": Choice(block[field], ordered=True)
                for field in fields
                for i, block in enumerate(self.blocks)
            }
        )

    def text(self, point: Point) -> str:
        """Return the blocks' texts with spaces between."""
        return " ".join(
            "_".join(f"{short}{point[f'block{i}_{field}']}" for field, short in SHORT.items() if field in block)
            for i, block in enumerate(self.blocks)
        )

    def _read(self, text: str) -> Point:
        fields, point = {short: field for field, short in SHORT.items()}, dict[str, Any]()
        for i, word in enumerate(text.split()):
            pairs = [re.fullmatch(r"([a-z]+)(\d+)", part) or ("", "", "") for part in word.split("_")]
            point |= {f"block{i}_{fields[pair[1]]}": int(pair[2]) for pair in pairs}
        return point

    def graphs(self, point: Point) -> dict[str, Graph]:
        return chain(self._label(point, i) for i in range(len(self.blocks)))

    def _label(self, point: Point, i: int) -> str:
        values = {field: point[f"block{i}_{field}"] for field in self.blocks[i]}
        lines = [f"MBConv{values['e']}", "{0}x{0}".format(values["k"]), f"{values['l']} layer{'s' * (values['l'] > 1)}"]
        lines += [f"stride {values['s']}"] if "s" in values else []
        return "\n".join(lines + (["squeeze"] if values.get("se") else []))


class EfficientNet(MobileBlocks):
    """Blocks of inverted residuals as in the thesis, 9.1.2: depth, expansion, kernel and stride of each block.

    Parameters
    ----------
    blocks : int, default 5
        Number of blocks; each has 54 kinds, so five have 4.6e8 networks.

    Notes
    -----
    Values are those of Once-for-All, whose supernet it used: depths 2, 3, 4, expansions 3, 4, 6, kernels 3, 5, 7 (the
    thesis gives 3, 5, 7 as expansions, which its own tables do not have), strides 1, 2.
    """

    name = "efficientnet"

    def __init__(self, blocks: int = BLOCKS) -> None:
        super().__init__([EFFICIENT] * whole_number(blocks, "blocks"))


class AccelNasBench(MobileBlocks):
    """The networks of Accel-NASBench: seven blocks of MnasNet, points named as the columns of its table.

    36 kinds of a block, and of block 5, which has up to four layers, 48: 1.0e11 networks.
    """

    name = "accel-nasbench"

    def __init__(self) -> None:
        longer = ACCEL | {"l": (*ACCEL["l"], 4)}
        super().__init__([longer if i == LONGER else ACCEL for i in range(ACCEL_BLOCKS)])

    def rows(self, path: str | Path, metric: str = "val_top1") -> tuple[list[Point], Floats]:
        """Return the measured networks of a table on disk, and their values [n].

        Of a network measured twice it is the mean. The table is not complete: a search over it is one of
        `Finite(points, [space.features(p) for p in points])`.

        path: the table, accel_nasbench.npz.
        metric: an array of the table, or one of its `platform_metrics` ("val_top1").
        """
        with np.load(path) as table:
            names = [str(name) for name in table["arch_fields"]]
            values = _metric(table, metric)
            archs, place = np.unique(table["arch"][~np.isnan(values)], axis=0, return_inverse=True)
        values = values[~np.isnan(values)]
        means: Floats = np.bincount(place, weights=values) / np.bincount(place)
        return [dict(zip(names, arch, strict=True)) for arch in archs.tolist()], means


def _metric(table: Any, metric: str) -> Floats:
    """Return a column of the table, as floats, with nan where it was not measured."""
    platform = [str(name) for name in table["platform_metrics"]]
    if metric in platform:
        return np.asarray(table["platform"][:, platform.index(metric)], np.float64)
    known = [name for name in table.files if name not in FILES_NOT_READ]
    if metric not in known:
        raise ValueError(f"expected a metric of the table, got {metric!r}: there are {', '.join(known + platform)}")
    return np.asarray(table[metric], np.float64)
