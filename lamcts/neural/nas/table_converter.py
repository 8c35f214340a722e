"""Convert a published benchmark into a table, once.

python -m lamcts.neural.nas.table_converter NATS-tss-v1_0-3ffb9-simple nasbench201.npz
python -m lamcts.neural.nas.table_converter NATS-sss-v1_0-50262-simple nats_size.npz
python -m lamcts.neural.nas.table_converter HW-NAS-Bench-v1_0.pickle hw_nasbench201.npz
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lamcts.neural.nas.conversion import HARDWARE, NATS, convert_hw_nas_bench, convert_nats_bench

STEP = 500  # networks between two lines of progress


def main(argv: Sequence[str] | None = None) -> int:
    """Convert what the command line names, and return the exit code."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("source", help=f"a folder of {NATS}, or the file of {HARDWARE}")
    given.add_argument("target", help="the table to write, .npz")
    named = given.parse_args(argv)
    try:
        if Path(named.source).is_dir():
            count = convert_nats_bench(named.source, named.target, _progress)
        else:
            count = convert_hw_nas_bench(named.source, named.target)
    except (ValueError, FileNotFoundError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{count} networks in {named.target}\n")
    return 0


def _progress(done: int, total: int) -> None:
    if done % STEP == 0:
        sys.stdout.write(f"{done} of {total} networks\n")


if __name__ == "__main__":
    sys.exit(main())
