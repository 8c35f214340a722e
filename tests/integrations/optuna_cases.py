"""What the tests of our sampler share: studies, and an objective."""

import optuna


def study_of(sampler, **more):
    return optuna.create_study(sampler=sampler, **more)


def points(study):
    return [tuple(sorted(trial.params.items())) for trial in study.trials]


def bowl(trial):
    """Return 0 at (1, 0), which is best."""
    return (trial.suggest_float("x", -5, 5) - 1) ** 2 + trial.suggest_float("y", -5, 5) ** 2
