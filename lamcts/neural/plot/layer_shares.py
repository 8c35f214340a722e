"""Shares of time and memory by kind of layer: figure 8.8 of the thesis."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lamcts.plot.canvas import COLOURS, INK, NOTE, Look, literal, sheet, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lamcts.neural.memory.layer_shares import LayerShare

WIDTH = 0.38  # of a bar; two are side by side
SMALL = 0.01  # share below which kinds are drawn as one
PALE = 0.45  # opacity of colours that are used again
HATCH = "///"  # of memory
TEXT: Look = {"ha": "center", "va": "bottom", "fontsize": NOTE, "color": INK}
KEY: Look = {"frameon": False, "fontsize": NOTE}


def layer_shares(
    networks: "Mapping[str, list[LayerShare]]", *, title: str = "Time and memory by kind of layer"
) -> "Figure":
    """Draw the shares of time and memory by kind of layer: two stacked bars for each network.

    Parameters
    ----------
    networks : mapping of str to list of LayerShare
        Kinds of each network, from `lamcts.neural.memory.layer_shares`.
    title : str
        The title.
    """
    from lamcts.neural.memory.layer_shares import merged

    if not networks or not all(networks.values()):
        raise ValueError(f"networks: expected at least one, each with operations, got {len(networks)}")
    shown = {name: merged(kinds, SMALL) for name, kinds in networks.items()}
    kinds = list(dict.fromkeys(one.kind for some in shown.values() for one in some))
    figure, axes = sheet(2.4 + 1.6 * len(shown), 4.8)
    bottom = np.zeros((2, len(shown)))  # of time and memory
    for k, kind in enumerate(kinds):
        shares = np.array([_shares(some, kind) for some in shown.values()]).T  # [2, networks]
        look: Look = {"color": COLOURS[k % len(COLOURS)], "edgecolor": "white", "alpha": PALE ** (k // len(COLOURS))}
        for which, hatch in enumerate(("", HATCH)):
            places = np.arange(len(shown)) + (which - 0.5) * (WIDTH + 0.04)
            label = literal(kind) if which == 0 else None
            axes.bar(places, shares[which], WIDTH, bottom=bottom[which], hatch=hatch, label=label, **look)
        bottom += shares
    for x in range(len(shown)):
        for which, word in enumerate(("time", "memory")):
            axes.text(x + (which - 0.5) * (WIDTH + 0.04), 101, word, **TEXT)
    axes.set_xticks(range(len(shown)), [literal(name) for name in shown])
    axes.set_ylim(0, 108)
    titled(axes, title, "", "share, percent")
    figure.legend(loc="outside right upper", **KEY)
    return figure


def _shares(kinds: "list[LayerShare]", kind: str) -> tuple[float, float]:
    """Return the percentages of time and memory of a kind."""
    mine = [one for one in kinds if one.kind == kind]
    time, memory = sum(one.seconds for one in kinds), sum(one.bytes for one in kinds)
    return 100 * sum(one.seconds for one in mine) / time, 100 * sum(one.bytes for one in mine) / max(memory, 1)
