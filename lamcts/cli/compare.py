"""`lamcts compare`: several optimizers on a function or program of the user's own."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from lamcts import plot
from lamcts.cli.console import counted, say
from lamcts.cli.outputs import Outputs, output_folder
from lamcts.cli.parser import Parser
from lamcts.cli.run import add_settings, add_target, named_in
from lamcts.cli.search import number_or_threads
from lamcts.cli.target import target_of
from lamcts.study.comparison import DEFAULT, compare
from lamcts.study.peers import PEERS

FIGURE = "convergence.png"


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    add_target(one)
    how = one.add_argument_group("comparison")
    line = f"names out of {', '.join(PEERS)}, or samplers and searches of `lamcts list`"
    line += f" (default: {','.join(DEFAULT)}, as far as they are installed)"
    how.add_argument("--peers", metavar="A,B", type=lambda text: text.split(","), help=line)
    how.add_argument("--seeds", type=int, default=5, metavar="N", help="runs of each method (default: 5)")
    how.add_argument("--budget", type=int, default=60, metavar="N", help="evaluations of each run (default: 60)")
    line = "runs at a time, each in a process; -1: one a core (default: 1)"
    how.add_argument("--workers", type=number_or_threads, metavar="N", help=line)
    line = "folder of the journals and the figure (default: named by the function)"
    how.add_argument("--out", "-o", metavar="DIR", type=output_folder, help=line)
    add_settings(one, argv, named_in(one, argv), but=["seeds"])  # of gaits, which keep their default


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    target = target_of(args)
    folder = Path(args.out or f"compare-{target.short}")
    say(f"{target.name}: {counted(args.seeds, 'run')} of {args.budget} evaluations a method, output in {folder}/")
    words = {"budget": args.budget, "peers": args.peers, "seeds": args.seeds, "workers": args.workers}
    found = compare(target.objective, folder=folder, **words)
    for line in str(found).splitlines():
        say(line)
    outputs = Outputs(args)
    with outputs.part("figures", code=0):
        title = f"{target.short}: best value so far"
        outputs.figures(folder, {FIGURE: lambda: plot.best_so_far(dict(found.runs), title=title)})
    outputs.announce(folder)
    return outputs.code
