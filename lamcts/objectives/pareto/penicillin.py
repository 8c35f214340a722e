"""The penicillin fermenter: yield, CO2 and duration of a run.

Liang and Lai 2021, after Birol, Undey and Cinar 2002; as BoTorch has it: Euler's steps of an hour, at most 2,500,
until the tank is full, the sugar is used up, or no more penicillin comes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamcts.objectives.base import register
from lamcts.objectives.problem import Problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

Bools = NDArray[np.bool_]

# Hours at most; litres that the tank holds; growth of the concentration in an hour below which nothing more comes.
HOURS, FULL, STILL = 2500, 180.0, 1e-11
GAS = 1.9872  # cal / (mol K)
# Constants of Birol et al. 2002, in grams, litres, hours, moles, calories and kelvins.
FROM_SUGAR, DRUG_FROM_SUGAR = 0.45, 0.90  # biomass and penicillin a gram of sugar
UPKEEP = 0.014  # sugar that biomass needs to live
GROWTH, CROWDED = 0.092, 0.15  # fastest growth, and what of it is lost with concentration
ACID, BASE = 1e-10, 7e-5  # between which concentrations of H+ it grows well
DRUG, DRUG_HALF, DRUG_STOP, DECAY = 0.005, 0.0002, 0.10, 0.04  # fastest making, at which sugar half, hindered; decay
GAS_GROWTH, GAS_LIFE, GAS_BASE = 0.143, 4e-7, 1e-4  # CO2 for growth, for life, and in any case
WARM, WARM_ENERGY, HOT, HOT_ENERGY = 7e3, 5100.0, 1e33, 50000.0  # growth and death by heat (Arrhenius)
VAPOUR, COLD, BOILING = 2.5e-4, 273.0, 373.0  # share that evaporates, and between which temperatures


@register("penicillin", "yield, CO2 and hours of a fermenter, 7 parameters; hypervolume at most 2183456", budget=200)
def penicillin(permute: int | None = None) -> Problem:
    """Volume, biomass, temperature, sugar, feed, sugar in the feed, pH at the start: the run of a fermenter.

    permute: seed of a permutation of the parameters (None: no permutation).
    """
    return Problem(
        "penicillin",
        Box([60, 0.05, 293, 0.05, 0.01, 500, 5], [120, 18, 303, 18, 0.5, 700, 6.5]),
        _run,
        {"yield": "max", "co2": "min", "hours": "min"},
        reference={"yield": -25.935, "co2": 57.612, "hours": 935.5},  # BoTorch, which has less than no yield there
        hypervolume=2183455.909507436,  # BoTorch
    ).permuted(permute)


@dataclass
class _Tank:
    """The contents of n tanks, [n]: litres, and grams a litre (CO2 in total)."""

    volume: Floats
    biomass: Floats
    sugar: Floats
    drug: Floats
    co2: Floats


def _run(x: Floats) -> dict[str, Floats]:
    volume, biomass, kelvin, sugar, feed, strength, ph = (column.copy() for column in x.T)
    tank = _Tank(volume, biomass, sugar, np.zeros(len(x)), np.zeros(len(x)))
    acid = 10.0**-ph
    heat = WARM * np.exp(-WARM_ENERGY / (GAS * kelvin)) - HOT * np.exp(-HOT_ENERGY / (GAS * kelvin))
    pace = GROWTH / (1 + ACID / acid + acid / BASE) * heat
    loss = VAPOUR * np.expm1(5 * (kelvin - BOILING) / (COLD - BOILING))  # share of the volume in an hour
    hours = np.full(len(x), float(HOURS))
    running = np.ones(len(x), bool)
    for hour in range(1, HOURS + 1):
        made = _hour(tank, running, pace, loss, feed, strength)
        over = running & ((tank.volume > FULL) | (tank.sugar < 0) | (made < STILL))
        hours[over] = hour
        running &= ~over
        if not running.any():
            break
    return {"yield": tank.drug, "co2": tank.co2, "hours": hours}


def _hour(tank: _Tank, running: Bools, pace: Floats, loss: Floats, feed: Floats, strength: Floats) -> Floats:
    """Let an hour pass in the tanks that are running; return the growth of penicillin, [n]."""
    v, b = tank.volume, tank.biomass
    s = np.where(running, tank.sugar, 1.0)  # what has stopped may lack sugar: no quotient of it counts
    inflow = feed - v * loss
    thinner = inflow / v
    growth = pace * s / (CROWDED * b + s)
    making = DRUG * s / (DRUG_HALF + s + s**2 / DRUG_STOP)
    more = growth * b - b * thinner
    eaten = (growth / FROM_SUGAR + making / DRUG_FROM_SUGAR + UPKEEP) * b
    made = making * b - DECAY * tank.drug - tank.drug * thinner
    gas = GAS_GROWTH * more + GAS_LIFE * b + GAS_BASE
    fresh = feed * strength / v - s * thinner - eaten
    tank.drug = np.where(running, tank.drug + made, tank.drug)
    tank.volume = np.where(running, v + inflow, v)
    tank.biomass = np.where(running, b + more, b)
    tank.sugar = np.where(running, s + fresh, tank.sugar)
    tank.co2 = np.where(running, tank.co2 + gas, tank.co2)
    return np.asarray(made, float)
