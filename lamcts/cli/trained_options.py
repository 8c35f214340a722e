"""The options of `lamcts nas --evaluate train` and `supernet`, without what carries them out."""

import argparse


def trained_options(one: argparse.ArgumentParser) -> None:
    """Add them to the options of a search of networks."""
    of = one.add_argument_group("networks that are trained (nasnet, nasbench101, nasbench201, convnet, rnn, ...)")
    line = "table: look networks up; train: train each; supernet: train all at once, and look them up (default: table)"
    of.add_argument("--evaluate", default="table", metavar="HOW", help=line)
    line = "digits, mnist, cifar10, wikitext2, tinyshakespeare, or a file .npz (default: digits; of rnn wikitext2)"
    of.add_argument("--data", metavar="NAME", help=line)
    of.add_argument("--side", type=int, metavar="N", help="make images so many pixels high and wide")
    line = "a size of the networks, such as width=8 or cells=3; repeatable"
    of.add_argument("--size", action="append", metavar="NAME=VALUE", help=line)
    line = "how they are trained, such as epochs=6, rate=0.1 or optimiser=adamw; repeatable"
    of.add_argument("--recipe", action="append", metavar="NAME=VALUE", help=line)
    line = "begin with the weights of the nearest network that is trained, and train for 20/70 of the epochs"
    of.add_argument("--inherit", action="store_true", default=None, help=line)
    of.add_argument("--device", metavar="NAME", help="cpu or cuda (default: cpu)")
    line = "stop trainings that are behind others: median, halving, hyperband or extrapolation"
    of.add_argument("--pruner", metavar="NAME", help=line)
    line = "gradient steps of the supernet's training, at most (default: 2000)"
    of.add_argument("--steps", type=int, metavar="N", help=line)
