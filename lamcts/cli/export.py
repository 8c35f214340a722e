"""`lamcts export`: runs in another form: a study in a storage of Optuna, or several runs in one journal."""

import argparse
from collections.abc import Sequence

from lamcts.cli.console import counted, say
from lamcts.cli.outputs import output_file
from lamcts.cli.parser import Parser
from lamcts.outcomes.constrained_rank import FEASIBLE, KINDS
from lamcts.study.load import journal_in


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("run", nargs="+", help="a journal, or the folder of a run, which may still go on")
    line = "storage of Optuna, such as sqlite:///study.db; a second export adds the evaluations that are new"
    target = one.add_mutually_exclusive_group(required=True)
    target.add_argument("--optuna", metavar="URL", help=line)
    line = "a new journal with the evaluations of all runs, from which a run resumes with the settings of the first"
    target.add_argument("--journal", metavar="FILE", type=output_file, help=line)
    one.add_argument("--study-name", metavar="NAME", help="name of the study (default: objective and seed)")
    line = f"with --journal, only evaluations of one kind: {', '.join(KINDS)}, or {FEASIBLE}"
    one.add_argument("--only", choices=(*KINDS, FEASIBLE), metavar="KIND", help=line)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.journal is not None:
        if args.study_name:
            raise ValueError("--study-name: expected with --optuna: leave it out")
        from lamcts.journal import merge

        made = merge([journal_in(run) for run in args.run], args.journal, only=args.only)
        say(f"{args.journal}: {counted(made.n, 'evaluation')} of {counted(len(args.run), 'run')}")
        return 0
    if len(args.run) > 1 or args.only:
        raise ValueError("--optuna: expected one run with all its evaluations: leave the others and --only out")
    return _to_optuna(args)


def _to_optuna(args: argparse.Namespace) -> int:
    from lamcts.integrations.optuna import export_study

    if "://" not in args.optuna:
        raise ValueError(f"--optuna: expected a URL such as sqlite:///study.db, got {args.optuna!r}")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = export_study(args.run[0], args.optuna, args.study_name)
    n = len(study.get_trials(deepcopy=False))
    say(f"study {study.study_name!r} in {args.optuna}: {counted(n, 'trial')}; optuna-dashboard {args.optuna} shows it")
    return 0
