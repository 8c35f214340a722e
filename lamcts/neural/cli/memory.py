"""`lamcts memory`: plans of a training step's memory as a table, and the best plan within a budget."""

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from lamcts import plot
from lamcts.cli.console import say, table
from lamcts.cli.outputs import Outputs, check_figure
from lamcts.cli.parser import Parser
from lamcts.neural.cli.training_step import TrainingStep, training_step
from lamcts.neural.memory import Machine, Report, extent, fitting, layer_shares, size_text
from lamcts.neural.memory.fitting import KEEPING, action_counts, budget_of
from lamcts.types import Json

DRAWN = (KEEPING, "offload", "cost-aware")  # and the chosen plan; of lists of layers the baseline too
COLUMNS: tuple[str, ...] = (
    "plan",
    "total_bytes",
    "activation_bytes",
    "milliseconds",
    "ratio",
    "kept",
    "recomputed",
    "offloaded",
)
COLUMNS += ("made_anew", "moved_bytes", "mark", "measured_milliseconds", "pool_bytes")
HEAD = ("plan", "total", "activations", "ms", "ratio", "kept, recomputed, offloaded", "moved")
MEASURED = "ms measured"  # a column if steps are measured
BLOCKS, ASCII = " ▁▂▃▄▅▆▇█", " .:-=+*#@"  # the second where the terminal's encoding lacks the first
WIDTH = 36  # columns of each pass: with the names, two fit into 100


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    line = "path/to/file.py:function, or package.module:function, that returns (model, batch), (model, batch, loss) or"
    line += " a dict, which may have an optimizer too; or thesis:alexnet, thesis:resnet, thesis:densenet, thesis:fan"
    one.add_argument("network", metavar="MODULE:FUNCTION", help=line)
    line = "memory of parameters, gradients, optimizer state, inputs and activations, such as 8GiB (default: all plans)"
    one.add_argument("--budget", metavar="SIZE", help=line)
    one.add_argument("--batch", type=int, metavar="N", help="batch size: the function's argument `batch`")
    line = "optimizer whose state is counted: none, sgd, momentum or adam"
    one.add_argument("--optimizer", metavar="NAME", help=line)
    line = "run training steps under the plans that fit, and measure their time, and the memory of the chosen one"
    one.add_argument("--measure", action="store_true", help=line)
    line = "compile the model with torch.compile such that a measured step stays within the budget (backend: inductor)"
    one.add_argument("--compile", nargs="?", const="inductor", metavar="BACKEND", help=line)
    how = one.add_argument_group("search")
    line = "plans of the local search (default: 5000 and 50 for each activation); 0: presets and greedy plans alone"
    how.add_argument("--exchanges", type=int, metavar="N", help=line)
    how.add_argument("--seconds", type=float, default=60.0, help="time limit of planning (default: 60)")
    how.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    out = one.add_argument_group("output")
    out.add_argument("--png", metavar="FILE", help="a figure of live memory by step, .png, .pdf or .svg")
    line = "time and memory by kind of layer, and what a first-fit pool of memory loses under each plan"
    out.add_argument("--by-layer", action="store_true", help=line)
    out.add_argument("--csv", metavar="FILE", help="the table, in bytes")


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    budget = None if args.budget is None else budget_of(args.budget)
    check_figure("--png", args.png)
    step = training_step(args.network, args.batch, args.optimizer)
    if args.compile is not None:
        say(str(_compiled(step, budget, args)))
        return 0
    search = {"exchanges": args.exchanges, "seed": args.seed, "seconds": args.seconds}
    if args.measure and step.model is None:
        raise ValueError(f"--measure: expected a model, got the list of layers {args.network}: leave it out")
    if budget is None:
        machine = step.machine() if args.measure else None
        options: Json = {} if step.model is None else {"options": fitting.options_on(step.model)}
        reports, text = fitting.curve(step.graph(), machine=machine, **options, **search), ""
        marks = dict.fromkeys((one.plan.name for one in fitting.front(reports)), "yes")
    else:
        reports, text = _within(step, budget, search, args.measure)
        marks = {one.plan.name: "yes" for one in reports if one.total_bytes <= budget}
        marks[reports[-1].plan.name] = "chosen"
    outputs, took = Outputs(args), dict[str, float]()
    if args.measure:
        with outputs.part("measured times"):
            took = step.times([one.plan for one in reports if one.plan.name in marks])
    _show(reports, marks, "front" if budget is None else "fits", took)
    say()
    drawing = _drawn(reports)
    for line in (*live_memory(drawing, budget), "", *text.splitlines()):
        say(line)
    if args.by_layer:
        _show_layers(reports[-1], step.machine() if args.measure else Machine())
        pools = [extent(one) for one in drawing]
        pairs = zip(drawing, pools, strict=True)
        rows = [
            [one.plan.name, size_text(pool.used_bytes), size_text(pool.pool_bytes), f"{pool.lost:.1%}"]
            for one, pool in pairs
        ]
        say()
        table([["plan", "peak in blocks", "pool", "lost"], *rows])
    if args.csv:
        with outputs.part(args.csv):
            _write_table(args.csv, reports, marks, took)
            say(f"table written to {args.csv}")
    if args.png:
        with outputs.part(args.png):
            title = f"{args.network.rpartition(':')[2]}: memory of a training step"
            plot.live_memory(drawing, budget_bytes=budget, title=title).savefig(args.png)
            say(f"figure written to {args.png}")
    return outputs.code


def _compiled(step: TrainingStep, budget: int | None, args: argparse.Namespace) -> fitting.CompiledFit:
    """Return the compiled step within the budget."""
    if step.model is None or budget is None:
        got = f"the list of layers {args.network}" if step.model is None else "no --budget"
        raise ValueError(f"--compile: expected a model and a budget, got {got}: leave it out, or give both")
    if unused := [name for name in ("measure", "by_layer", "csv", "png") if getattr(args, name)]:
        raise ValueError(f"--compile: expected no --{unused[0].replace('_', '-')}, which is of plans: leave one out")
    return step.fit_compiled(budget, backend=args.compile, seconds=args.seconds)


def _within(step: TrainingStep, budget: int, search: Json, measure: bool) -> tuple[list[Report], str]:
    """Return all evaluated plans, the chosen one last, and a text about it."""
    if step.model is None:
        chosen = fitting.within(step.graph(), budget, **search)
        text = "\n".join([f"budget {size_text(budget)}", *chosen.lines()])
    else:
        fitted = step.fit(budget, verify=measure, **search)
        chosen, text = fitted.chosen, str(fitted)
    return [*(one for one in chosen.plans if one is not chosen.report), chosen.report], text


def _show(reports: Sequence[Report], marks: dict[str, str], word: str, took: dict[str, float]) -> None:
    """Print the table, with the marks by name of a plan in a column called `word`, and measured seconds."""
    kept = next(one for one in reports if one.plan.name == KEEPING)
    rows = [
        [
            one.plan.name,
            size_text(one.total_bytes),
            size_text(one.peak_bytes),
            f"{1e3 * one.seconds:.4g}",
            f"{one.seconds / kept.seconds:.3f}",
            ", ".join(map(str, action_counts(one))),
            size_text(one.sent_bytes + one.fetched_bytes),
            *([_milliseconds(took, one.plan.name)] if took else []),
            marks.get(one.plan.name, ""),
        ]
        for one in reports
    ]
    table([[*HEAD, *([MEASURED] if took else []), word], *rows])


def _milliseconds(took: dict[str, float], name: str) -> str:
    return f"{1e3 * took[name]:.4g}" if name in took else ""


def _show_layers(report: Report, machine: Machine) -> None:
    """Print modelled time and memory by kind of layer."""
    kinds = layer_shares(report.graph, machine)
    time, memory = sum(one.seconds for one in kinds), max(sum(one.bytes for one in kinds), 1)
    rows = [
        [
            one.kind,
            str(one.operations),
            f"{1e3 * one.seconds:.4g}",
            f"{100 * one.seconds / time:.1f} %",
            size_text(one.bytes) if one.bytes else "0 B",
            f"{100 * one.bytes / memory:.1f} %",
        ]
        for one in kinds
    ]
    say()
    table([["kind of layer", "operations", "ms", "of time", "memory", "of memory"], *rows])


def _drawn(reports: Sequence[Report]) -> list[Report]:
    """Return the plans that are drawn, the chosen one last."""
    names = DRAWN if reports[0].graph.accounting == "traced" else ("baseline", *DRAWN)
    return [*(one for one in reports[:-1] if one.plan.name in names), reports[-1]]


def _write_table(path: str, reports: Sequence[Report], marks: dict[str, str], took: dict[str, float]) -> None:
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for one in reports:
            mark = marks.get(one.plan.name, "")
            kept = next(other for other in reports if other.plan.name == KEEPING)
            moved = one.sent_bytes + one.fetched_bytes
            numbers = [one.total_bytes, one.peak_bytes, f"{1e3 * one.seconds:.6g}", f"{one.seconds / kept.seconds:.6g}"]
            row = [one.plan.name, *numbers, *action_counts(one), one.recomputes, moved, mark]
            rows.writerow([*row, _milliseconds(took, one.plan.name), extent(one).pool_bytes])


def live_memory(reports: Sequence[Report], budget_bytes: int | None = None) -> Iterator[str]:
    """Yield lines of text: a head, and a row of blocks for each plan with its peak."""
    blocks, highest = _blocks(), max(one.total_bytes for one in reports)
    name = max(len(one.plan.name) for one in reports)
    within = "" if budget_bytes is None else f"; the budget is at {budget_bytes / highest:.0%}"
    yield f"live memory by step, up to {size_text(highest)}{within}; forward | backward"
    for one in reports:
        live = [size + one.graph.outside_bytes for size in one.live_bytes]
        begin = one.graph.forward_count
        passes = (_blocks_of(part, highest, blocks) for part in (live[:begin], live[begin:]))
        yield f"  {one.plan.name.ljust(name)}  {'|'.join(passes)}  {size_text(one.total_bytes)}"


def _blocks_of(live: Sequence[int], highest: int, blocks: str) -> str:
    """Return a row of at most WIDTH blocks; each step is in one of them."""
    columns = min(WIDTH, len(live))
    ends = [round(i * len(live) / columns) for i in range(columns + 1)]
    most = [max(live[begin:end]) for begin, end in pairwise(ends)]
    return "".join(blocks[-(-size * (len(blocks) - 1) // highest)] for size in most)


def _blocks() -> str:
    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return ASCII
    return BLOCKS
