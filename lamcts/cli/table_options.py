"""Options of `lamcts nas` for tables of trained networks."""

import argparse


def table_options(one: argparse.ArgumentParser) -> None:
    of = one.add_argument_group("a table of trained networks (each takes those that `lamcts list` shows)")
    of.add_argument("--table", metavar="FILE", help="the table, or its folder (default: the folder LAMCTS_DATA)")
    of.add_argument("--dataset", metavar="NAME", help="what the networks were trained on: cifar100, cora, ...")
    of.add_argument("--guide", metavar="NAME", help="the value that is searched: test, val, ...")
    of.add_argument("--epochs", type=int, metavar="N", help="of the training that is looked up")
    of.add_argument("--training", type=int, metavar="SEED", help="which is looked up (default: the mean of all)")
    of.add_argument("--vertices", type=int, metavar="N", help="the most that a cell may have")
    of.add_argument("--keyed", action=argparse.BooleanOptionalAction, help="points of one network count as one, or not")
    of.add_argument("--latency", metavar="FILE", help="a table of latencies on devices")
    of.add_argument("--against", metavar="NAME", help="a cost to search against: params, mflops, latency_s, ...")
    of.add_argument("--robustness", metavar="FILE", help="a table of accuracies under attack")
