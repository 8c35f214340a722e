"""Values at the ends of the floats, whose sums and differences overflow: nothing raises, warns or proposes nan."""

import json

import numpy as np
import pytest

import lamcts
from lamcts import plot
from tests.extras import samplers

ENDS = (1.7e308, -1.7e308, 1e308, -1e308, 5e-324, 0.0, 1.0)
BOX = lamcts.Box(0, 1, dim=2)
MIXED = {"x": lamcts.Float(0, 1), "k": lamcts.Choice(["a", "b"]), "n": lamcts.Int(0, 5)}
KINDS = {
    "one": (BOX, {}),
    "two": (BOX, {"objectives": 2}),
    "three, constraint": (BOX, {"objectives": 3, "constraints": ["g <= 0"]}),
    "constraint": (BOX, {"constraints": ["g <= 0"]}),
    "noisy": (BOX, {"noisy": True}),
    "mixed": (MIXED, {}),
    "mixed, two": (MIXED, {"objectives": 2}),
    "fidelity": (MIXED | {"epochs": lamcts.Fidelity(1, 9)}, {}),
}
DEAR = [
    pytest.param(*sampler.values, kind, marks=[*sampler.marks, pytest.mark.dear])
    for sampler in samplers("bo", "turbo", "mixed_gp", "quadratic", "coordinate", "gp_cma", "la_mcts", "cma")
    for kind in KINDS
]


def drawn(rng, ends, opt):
    """Return a random value for each objective and constrained quantity, a number where there is one."""
    found = rng.choice(ends, len(opt.goals.names) + len(opt.goals.quantities)).tolist()
    return found[0] if len(found) == 1 else tuple(found)


@pytest.mark.parametrize(("sampler", "kind"), [*(("auto", kind) for kind in KINDS), *DEAR])
def test_every_search_goes_on_with_values_at_the_ends_of_the_floats(sampler, kind):
    space, settings = KINDS[kind]
    for ends in (ENDS, ENDS[:2]):
        rng = np.random.default_rng(0)
        try:
            opt = lamcts.Optimizer(space, sampler=sampler, seed=0, n_init=6, **settings)
        except ValueError as error:
            pytest.skip(str(error))
        for batch in (6, 1, 3, 4, 1, 5):
            trials = opt.ask(batch, left=24 - len(opt.seen))
            assert all(np.isfinite(trial.x).all() for trial in trials)
            opt.tell(trials, [drawn(rng, ends, opt) for trial in trials])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_from_a_run_is_there_with_values_at_the_ends_of_the_floats(kind):
    for library in ("matplotlib", "pandas"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    space, settings = KINDS[kind]
    for ends in (ENDS, ENDS[:2], (1.7e308, 1e308, 5e-324)):
        rng, opt = np.random.default_rng(1), lamcts.Optimizer(space, seed=0, **settings)
        several = len(opt.goals.names) > 1
        stops = {"min_gain": 1e300} if kind in ("one", "noisy") else {}
        how = settings | stops | {"budget": 6 if kind == "fidelity" else 20, "seed": 0, "patience": 15}
        values = iter([drawn(rng, ends, opt) for _ in range(200)])
        found = lamcts.minimize(lambda point, values=values: next(values), space, **how)
        assert repr(found) and json.dumps(found.to_dict(), allow_nan=False) and len(found.to_dataframe()) == found.nfev
        assert not np.isnan(found.predict(found.history.points[:3]).mean).any()
        assert found.front.hypervolume() >= 0 if several else np.isfinite(found.best_predicted.value)
        for figure in (plot.front, plot.hypervolume) if several else (plot.best_so_far, plot.violation):
            figure(found).canvas.draw()
        for figure in (plot.importance, plot.parallel, plot.slices, plot.contours):
            figure(found).canvas.draw()


def test_the_remaining_gain_of_values_near_the_largest_float_is_that_of_small_ones():
    gains = []
    for scale in (1.0, 2.0**1023):
        opt = lamcts.Optimizer(BOX, sampler="uniform", seed=0)
        for trial in opt.ask(25):
            opt.tell(trial, scale * (1.5 + 0.4 * float(np.square(trial.point - 0.3).sum())))
        gains.append(opt.remaining_gain.mean / scale)
    assert gains[0] == gains[1] > 0
