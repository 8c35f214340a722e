"""Applications of thesis ch. 9: does a searched network beat random search and a hand-made one at equal training?

    python -m benchmarks.neural.applications text [--minutes 20] [--device cpu|cuda] [--seed 0] [--trainings 24]

text: a recurrent cell (ENAS space, 8 nodes) on characters of Shakespeare, compared with a GRU of as many
parameters; perplexity. segmenter: a backbone (NAS-Bench-201 space) for synthetic shapes, compared with a U-Net; mean
intersection over union. detector: a backbone for boxes around the shapes, compared with a U-Net; average precision.
gan: a cell (the same space) in a generator of digits, compared with DCGAN's convolutions;
Frechet distance between features of a digits classifier. The distance of real images is printed too.

Three arms train equally often and with as many steps: lamcts, random search, and the hand-made network with a different
learning rate each time. Each training adds a row to results/applications.csv. Journals and the best network go to
--folder. A script that was stopped resumes. One run takes about twelve minutes of one core. The sizes are constants of
each application's file; the thesis took 1.56 GPU days for its cell. One seed shows that it runs, and no more.
"""

import argparse
import importlib
import math
import time
from pathlib import Path

from benchmarks.harness import script
from benchmarks.harness.panels import FIGURES
from benchmarks.harness.sheet import Sheet
from benchmarks.neural.applications import arms

NAMES = ("text", "segmenter", "detector", "gan")
MINUTES = 20.0  # no training begins later
TRAININGS = 24  # of an arm


def main() -> None:
    given = script.parser(__doc__, "applications.csv", "two trainings of a few steps by each arm of each application")
    given.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default: all")
    given.add_argument("--minutes", type=float, default=MINUTES, help="after which no training begins (20), of each")
    given.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--trainings", type=int, default=TRAININGS, help="of each arm (24)")
    given.add_argument("--folder", type=Path, default=Path("applications"), help="of journals and networks")
    given.add_argument("--figures", type=Path, default=FIGURES, help="where pictures go")
    arguments = script.parsed(given, trainings=2, minutes=math.inf)
    if unknown := set(arguments.names) - set(NAMES):
        given.error(f"expected names of {', '.join(NAMES)}, got {', '.join(sorted(unknown))}")
    if arguments.smoke:
        arguments.folder = arguments.figures = arguments.out.parent
    for name in arguments.names or NAMES:
        one(name, arguments)


def one(name: str, arguments: argparse.Namespace) -> None:
    """Run or resume the search of one application; print and draw its results."""
    scale = "smoke" if arguments.smoke else "full"
    folder = arguments.folder / name
    folder.mkdir(parents=True, exist_ok=True)
    made = importlib.import_module(f"benchmarks.neural.applications.{name}").application(
        scale, arguments.device, folder
    )
    sheet = Sheet(arguments.out, arms.KEY, arms.COLUMNS)
    until = time.monotonic() + 60 * arguments.minutes
    run = arms.Run(made, scale, arguments.seed, arguments.trainings, sheet, folder, until)
    for arm in arms.ARMS:
        run.arm(arm)
    arms.table(run)
    arms.figure(run, arguments.figures / f"application_{name}.png")
    run.keep(folder / f"{name}.npz")


if __name__ == "__main__":
    main()
