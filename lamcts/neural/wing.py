"""What this package adds to the command line, to `lamcts.objectives` and to `lamcts.plot`."""

from lamcts.utils.wings import Command, Listed, Wing


def lists() -> list[Listed]:
    """Return the searches of architectures and the networks that can be trained."""
    from lamcts.neural.cli.trained import KINDS
    from lamcts.neural.searches import network_searches

    searches = [[name, search.line] for name, search in network_searches.names().items()]
    networks = [[name, kind.line] for name, kind in KINDS.items()]
    return [
        ("Searches of network architectures: lamcts nas table TABLE --search SEARCH", searches),
        ("Networks that can be trained: lamcts nas train --space SPACE", networks),
    ]


WING = Wing(
    "lamcts.neural",
    commands={
        "nas": Command(
            "lamcts.neural.cli.nas",
            "search network architectures, by a table, training, or shared weights; the same command again resumes",
        ),
        "evolve": Command(
            "lamcts.neural.cli.evolve",
            "evolve your own network: replace parts of it and train the children; the same command again resumes",
        ),
        "memory": Command(
            "lamcts.neural.cli.memory",
            "plan which activations of a training step are kept, recomputed or offloaded, within a memory budget",
        ),
    },
    figures={
        "cells": "lamcts.neural.plot.networks",
        "evolution_front": "lamcts.neural.plot.evolution",
        "evolution_graphs": "lamcts.neural.plot.evolution",
        "layer_shares": "lamcts.neural.plot.layer_shares",
        "live_memory": "lamcts.neural.plot.live_memory",
    },
    settings={
        "Leaf": "lamcts.neural.searches.lanas",
        "Reinforce": "lamcts.neural.searches.reinforce",
        "GraphReinforce": "lamcts.neural.searches.graph_reinforce",
        "AlphaX": "lamcts.neural.searches.alphax.sampler",
        "Assign": "lamcts.neural.searches.alphax.actions",
        "BuildCells": "lamcts.neural.searches.alphax.cells",
        "Ridge": "lamcts.neural.searches.surrogate",
        "MetaDnn": "lamcts.neural.metadnn.meta_dnn",
    },
    lists=lists,
    searches="lamcts.neural.searches.network_searches",
)
