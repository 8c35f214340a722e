"""SMAC3's BlackBoxFacade (a Gaussian process, for continuous spaces) through its ask and tell; initial design: ours."""

import logging
import tempfile
from pathlib import Path

from benchmarks.harness.search import Search


def black_box(search: Search) -> None:
    from ConfigSpace import Configuration, ConfigurationSpace, Float
    from smac import BlackBoxFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    logging.disable(logging.WARNING)
    names = [f"x{i:05}" for i in range(search.dim)]
    space = ConfigurationSpace(seed=search.seed)
    space.add([Float(name, (0.0, 1.0)) for name in names])
    folder = Path(tempfile.mkdtemp())  # it writes a folder of its own
    scenario = Scenario(space, n_trials=search.budget, deterministic=True, seed=search.seed, output_directory=folder)
    given = [Configuration(space, values=dict(zip(names, u.tolist(), strict=True))) for u in search.initial()]
    design = BlackBoxFacade.get_initial_design(scenario, n_configs=0, additional_configs=given)

    def never(config: Configuration, seed: int = 0) -> float:
        raise RuntimeError("expected ask and tell only")

    facade = BlackBoxFacade(scenario, never, initial_design=design, overwrite=True, logging_level=False)
    while search.left:
        trial = facade.ask()
        cost = search([trial.config[name] for name in names])
        facade.tell(trial, TrialValue(cost=cost))
