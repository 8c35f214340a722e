"""Tune a made-up network: a rate, a size and a kind, with a limit on its size."""

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    layers = trial.suggest_int("layers", 1, 8)
    kind = trial.suggest_categorical("kind", ["relu", "gelu", None])
    trial.set_constraint("size", layers - 6)  # at most 0
    return abs(rate - 1e-3) * 100 + (8 - layers) + (kind != "gelu")


if __name__ == "__main__":
    sampler = optunahub.load_module(package="samplers/lamcts").LamctsSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=30)
    print(study.best_value, study.best_params)
