"""What `lamcts memory` takes."""

import argparse


def memory_options(one: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    line = (
        "path/to/file.py:function, or package.module:function, that returns (model, batch), (model, batch, loss) or a"
    )
    line += " dict, which may have an optimizer too; or thesis:alexnet, thesis:resnet, thesis:densenet, thesis:fan"
    one.add_argument("network", metavar="MODULE:FACTORY", help=line)
    line = "of parameters, gradients, the optimiser's state, inputs and activations, such as 8GiB (default: all plans)"
    one.add_argument("--budget", metavar="SIZE", help=line)
    one.add_argument("--batch", type=int, metavar="N", help="handed to the function as `batch`, or images of a step")
    one.add_argument("--optimizer", metavar="NAME", help="whose state is counted: none, sgd, momentum or adam")
    line = "run a training step under the plan, and say what it held"
    one.add_argument("--measure", action="store_true", help=line)
    how = one.add_argument_group("the search")
    line = "plans that the optimiser tries (default: its own number); 0: the thesis's plans and greedy ones alone"
    how.add_argument("--evaluations", type=int, metavar="N", help=line)
    how.add_argument("--seconds", type=float, default=60.0, help="it tries no plan later than this (default: 60)")
    how.add_argument("--seed", type=int, default=0, help="governs every draw (default: 0)")
    out = one.add_argument_group("what is written")
    out.add_argument("--png", metavar="FILE", help="a picture of live memory by step, .png, .pdf or .svg")
    out.add_argument("--csv", metavar="FILE", help="the table, in bytes")
