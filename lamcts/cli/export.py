"""`lamcts export`: a run as a study in a storage of Optuna."""

import argparse
from collections.abc import Sequence

from lamcts.cli.console import counted, say
from lamcts.cli.parser import Parser


def add_options(one: Parser, argv: Sequence[str]) -> None:
    """Add the options of the command."""
    one.add_argument("run", help="a journal, or the folder of a run, which may still go on")
    line = "storage of Optuna, such as sqlite:///study.db; a second export adds the evaluations that are new"
    one.add_argument("--optuna", metavar="URL", required=True, help=line)
    one.add_argument("--study-name", metavar="NAME", help="name of the study (default: objective and seed)")


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    from lamcts.integrations.optuna import export_study

    if "://" not in args.optuna:
        raise ValueError(f"--optuna: expected a URL such as sqlite:///study.db, got {args.optuna!r}")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = export_study(args.run, args.optuna, args.study_name)
    n = len(study.get_trials(deepcopy=False))
    say(f"study {study.study_name!r} in {args.optuna}: {counted(n, 'trial')}; optuna-dashboard {args.optuna} shows it")
    return 0
