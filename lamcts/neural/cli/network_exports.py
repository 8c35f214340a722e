"""`lamcts nas --export`: the best network as a file that runs without lamcts."""

import argparse
from typing import TYPE_CHECKING

from lamcts.cli.console import say
from lamcts.cli.outputs import Outputs
from lamcts.types import Point

if TYPE_CHECKING:
    from lamcts.neural.train import TrainObjective

EXAMPLES = 2  # torch treats a batch of one as a constant


def check_exports(args: argparse.Namespace) -> None:
    """Raise ValueError or MissingExtra for a file that cannot be written, before the search."""
    from lamcts.neural.train.export import checked_format

    for path in args.export or ():
        try:
            checked_format(path)
        except ValueError as error:
            raise ValueError(f"--export: {error}") from None


def write_exports(args: argparse.Namespace, objective: "TrainObjective", outputs: Outputs, point: Point) -> list[str]:
    """Export a trained network to the files of the options, and return those that were written."""
    from lamcts.neural.train import export_network, trained_network

    net, written = trained_network(objective, point), []
    example = objective.data.train.x[:EXAMPLES].copy()  # the data are read-only
    for path in args.export or ():
        with outputs.part("export"):
            free = export_network(net, example, path)
            say(f"exported: {path}, for batches of {'any size' if free else f'{EXAMPLES} examples only'}")
            written.append(path)
    return written
