"""How many control steps a second does one core make, in gymnasium and with episodes stepped together?

    python -m benchmarks.parallel.steps [--gaits swimmer hopper ...] [--seconds 2] [--repeats 3]

Both routes play the same episodes of the same policies: small random weights, and nothing at all where those fall at
once. They take turns, since the load of a shared machine drifts; a cell is the best of `--repeats`, in CPU
seconds of the process. "rollouts" is one evaluation of 3 episodes at a time, "many" 64 episodes at a time.
Returns are compared on the way: they are equal bit for bit. Rows go to results/steps.csv.
"""

import time
from dataclasses import replace

import numpy as np

from benchmarks.harness import script
from benchmarks.harness.sheet import Sheet
from benchmarks.harness.task import Row
from benchmarks.harness.versions import versions
from lamcts import objectives
from lamcts.objectives.control.mujoco import Gait, batch

GAITS = ("swimmer", "hopper", "walker2d", "halfcheetah", "ant", "humanoid")
POINTS = {"rollouts": 1, "many": 21}  # points of 3 episodes played at a time
SPREAD = 0.02  # of the weights: small, so that legs stand for a while
KEY = ("gait", "env", "points", "policies")
COLUMNS = (*KEY, "gymnasium_per_s", "batch_per_s", "ratio", "steps", "equal", "versions")


def main() -> None:
    given = script.parser(__doc__, "steps.csv", "a moment of one gait")
    given.add_argument("--gaits", nargs="+", default=GAITS, choices=GAITS)
    given.add_argument("--seconds", type=float, default=2.0, help="about how long a cell plays")
    given.add_argument("--repeats", type=int, default=3)
    arguments = script.parsed(given, gaits=["hopper"], seconds=0.05, repeats=1)
    sheet = Sheet(arguments.out, KEY, COLUMNS)
    for name in arguments.gaits:
        gait = objectives.make(name)
        kinds = list(POINTS) if batch.can_play(gait.world) else ["rollouts"]
        for _, _, how, _ in sheet.missing((name, gait.env, how, _kind(name)) for how in kinds):
            sheet.record(measure(gait, how, arguments.seconds, arguments.repeats))


def measure(gait: Gait, kind: str, seconds: float, repeats: int) -> Row:
    """Return the row of one gait: the best steps a second of both routes, taking turns."""
    plain, quick = replace(gait, route="gymnasium"), replace(gait, route="auto")
    routes = {"gymnasium": plain} | ({"batch": quick} if batch.can_play(gait.world) else {})
    rng = np.random.default_rng(0)
    spread = SPREAD if _kind(gait.name) == "small" else 0.0
    points = [rng.normal(0, spread, gait.space.dim) for _ in range(POINTS["many"])]
    began = time.process_time()
    plain.many(points[:1], [0])  # loads what loads late, and says how long a point takes
    points_each = max(1, round(seconds / max(time.process_time() - began, 1e-3)))
    best, totals, steps = dict.fromkeys(routes, 0.0), {}, 0
    for made in routes.values():
        made.many(points[:1], [0])
    for _ in range(repeats):
        for route, made in routes.items():
            returns, rate, steps = play(made, points, POINTS[kind], points_each)
            best[route], totals[route] = max(best[route], rate), returns
    equal = len(set(map(tuple, totals.values()))) == 1
    row = dict(zip(KEY, (gait.name, gait.env, kind, _kind(gait.name)), strict=True))
    row |= {f"{route}_per_s": f"{rate:.0f}" for route, rate in best.items()}
    ratio = {"ratio": f"{best['batch'] / best['gymnasium']:.2f}", "equal": equal} if "batch" in best else {}
    packages = ("lamcts", "numpy", "gymnasium", "mujoco")
    return row | ratio | {"steps": steps, "versions": versions(packages)}


def play(gait: Gait, points: list[np.ndarray], at_once: int, least: int) -> tuple[list[float], float, int]:
    """Play at least `least` points, `at_once` at a time; return the returns, steps a CPU second, and steps."""
    returns, steps, played = [], 0, 0
    began = time.process_time()
    while played < least:
        chosen = [points[(played + i) % len(points)] for i in range(at_once)]
        for found in gait.many(chosen, range(played, played + at_once)):
            returns += found.returns.tolist()
            steps += int(found.steps.sum())
        played += at_once
    return returns, steps / (time.process_time() - began), steps


def _kind(name: str) -> str:
    """Return which policies are played: standing still where small random weights fall within a few steps."""
    return "zero" if name in ("ant", "humanoid") else "small"


if __name__ == "__main__":
    main()
