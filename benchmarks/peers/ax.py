"""Ax's default through its ask and tell, with its own start: the centre, then Sobol points."""

import logging

from benchmarks.harness.search import Search


def search(search: Search) -> None:
    from ax.api.client import Client
    from ax.api.configs import RangeParameterConfig

    logging.disable(logging.WARNING)
    names = [f"x{i:05}" for i in range(search.dim)]
    client = Client(random_seed=search.seed)
    client.configure_experiment(
        [RangeParameterConfig(name=each, parameter_type="float", bounds=(0, 1)) for each in names]
    )
    client.configure_optimization("-loss")
    while search.left:
        for number, parameters in client.get_next_trials(1).items():
            client.complete_trial(number, {"loss": search([float(parameters[name]) for name in names])})
