"""Make the README's picture: what the tree has learned of a two-dimensional problem.

python docs/picture.py [--out docs/partition.png]
"""

import argparse
from pathlib import Path

import lamcts
from lamcts import objectives, plot


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "partition.png")
    parser.add_argument("--objective", default="levy")
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    objective = objectives.make(arguments.objective, dim=2, shift="reference")
    opt = lamcts.Optimizer(objective.space, sampler="turbo", seed=arguments.seed, n_init=40)
    for _ in range(arguments.budget // 5):
        trials = opt.ask(5)
        opt.tell(trials, [objective(trial.point) for trial in trials])
    title = f"{arguments.objective.capitalize()}, 2-D: the regions learned from {arguments.budget} evaluations"
    figure = plot.partition(opt, function=objective, optimum=objective.centre, title=title)
    figure.savefig(arguments.out, dpi=110)


if __name__ == "__main__":
    main()
