"""Designs with several objectives: a welded beam, two cars in a crash by fitted formulas, and a penicillin fermenter.

The fermenter is that of Liang and Lai 2021, after Birol, Undey and Cinar 2002, as BoTorch has it: Euler's steps of an
hour until the tank is full, the sugar is used up, or no more penicillin comes.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lamcts.objectives.base import register
from lamcts.objectives.constrained.engineering import bending, cost, shear
from lamcts.objectives.problem import Problem, problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

BUDGET = 200  # evaluations of a first run (untuned)
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


@problem(
    "welded-beam-deflection",
    "cost against deflection of a welded beam, 4 constraints; hypervolume at most 0.51308",
    Box([0.125, 0.1, 0.1, 0.125], [5, 10, 10, 5]),
    {"cost": "min", "deflection": "min"},
    ("shear <= 13600", "bending <= 30000", "buckling >= 6000", "overhang <= 0"),
    reference={"cost": 40.0, "deflection": 0.015},  # BoTorch
    hypervolume=0.51308,  # of 400 descents to the least cost within a deflection
    budget=BUDGET,
)
def welded_beam_deflection(x: Floats) -> dict[str, Floats]:
    """Deb's welded beam (2000): half the polar moment of `welded-beam`, and rounded constants."""
    weld, _, height, thick = x.T
    return {
        "cost": cost(x),
        "deflection": 2.1952 / (thick * height**3),
        "shear": shear(x, np.sqrt(2)),
        "bending": bending(x),
        "buckling": 64746.022 * (1 - 0.0282346 * height) * height * thick**3,
        "overhang": weld - thick,
    }


@problem(
    "vehicle-safety",
    "weight, acceleration and intrusion of a car in a crash; hypervolume at most 246.82",
    Box(1, 3, dim=5),
    dict.fromkeys(("weight", "acceleration", "intrusion"), "min"),
    reference={"weight": 1864.72022, "acceleration": 11.81993945, "intrusion": 0.2903999384},  # BoTorch
    hypervolume=246.81607081187002,
    budget=BUDGET,
)
def vehicle_safety(x: Floats) -> dict[str, Floats]:
    """Five thicknesses of a car's front (Liao et al. 2008; RE37 of Tanabe and Ishibuchi 2020 with more digits)."""
    a, b, c, d, e = x.T
    late = -0.3695 * a * d + 0.0861 * a * e + 0.3628 * b * d - 0.1106 * a**2 - 0.3437 * c**2 + 0.1764 * d**2
    deep = -0.0073 * a * b + 0.024 * b * c - 0.0118 * b * d - 0.0204 * c * d - 0.008 * c * e
    return {
        "weight": 1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e,
        "acceleration": 6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d + late,
        "intrusion": -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c + deep - 0.0241 * b**2 + 0.0109 * d**2,
    }


# what may be borne: forces (kN), viscous criteria and velocities (m/s, mm/ms), deflections (mm); Jain and Deb 2014
BORNE = {
    "abdomen": 1.0,
    "chest_upper": 0.32,
    "chest_middle": 0.32,
    "chest_lower": 0.32,
    "rib_upper": 32.0,
    "rib_middle": 32.0,
    "rib_lower": 32.0,
    "pubis": 4.0,
    "pillar": 9.9,
    "door": 15.7,
}


@register("car-side-impact", "weight, force, velocity and excess of a car hit from the side", budget=BUDGET)
def car_side_impact(constrained: bool = False, permute: int | None = None) -> Problem:
    """Seven thicknesses of a car's side, and ten loads that a passenger bears.

    constrained: whether each load is a constraint (False: the sum of the excess loads is a fourth objective);
        False is RE41 of Tanabe and Ishibuchi 2020, True is Jain and Deb 2014.
    permute: seed of a permutation of the parameters (None: no permutation).
    """
    names = ("weight", "pubis", "velocity", *(() if constrained else ("excess",)))
    reference = dict(zip(names, (45.4872, 4.5114, 13.3394, 10.3942), strict=False))
    return Problem(
        "car-side-impact",
        Box([0.5, 0.45, 0.5, 0.5, 0.875, 0.4, 0.4], [1.5, 1.35, 1.5, 1.5, 2.625, 1.2, 1.2]),
        partial(_car_side_impact, constrained),
        dict.fromkeys(names, "min"),
        tuple(f"{name} <= {limit:g}" for name, limit in BORNE.items()) if constrained else (),
        reference=reference,  # BoTorch
        hypervolume=None if constrained else 484.72654347642793,  # BoTorch
        settings={"constrained": constrained},
    ).permuted(permute)


def _car_side_impact(constrained: bool, x: Floats) -> dict[str, Floats]:
    a, b, c, d, e, f, g = x.T
    loads = _loads(x)
    weight = 1.98 + 4.9 * a + 6.67 * b + 6.98 * c + 4.01 * d + 1.78 * e + 1e-5 * f + 2.73 * g
    found = {"weight": weight, "pubis": loads["pubis"], "velocity": (loads["pillar"] + loads["door"]) / 2}
    if constrained:
        return found | loads
    over = [np.maximum(loads[name] - limit, 0) for name, limit in BORNE.items()]
    return found | {"excess": np.sum(over, axis=0)}


def _loads(x: Floats) -> dict[str, Floats]:
    """Return what a passenger bears, [n] each; stiffnesses of two materials are the paper's constants."""
    a, b, c, d, e, f, g = x.T
    beam, pillar = 0.345, 0.192
    upper = 0.261 - 0.0159 * a * b - 0.188 * a * beam - 0.019 * b * g + 0.0144 * c * e + 0.08045 * f * pillar
    middle = 0.214 + 0.00817 * e - 0.131 * a * beam - 0.0704 * a * pillar + 0.03099 * b * f - 0.018 * b * g
    middle = middle + 0.0208 * c * beam + 0.121 * c * pillar - 0.00364 * e * f - 0.018 * b**2
    rib = 33.86 + 2.95 * c - 5.057 * a * b - 11 * b * beam - 9.98 * g * beam + 22 * beam * pillar
    return {
        "abdomen": 1.16 - 0.3717 * b * d - 0.0092928 * c,
        "chest_upper": upper,
        "chest_middle": middle,
        "chest_lower": 0.74 - 0.61 * b - 0.031296 * c - 0.166 * g * pillar + 0.227 * b**2,
        "rib_upper": 28.98 + 3.818 * c - 4.2 * a * b + 6.63 * f * pillar - 7.77 * g * beam,
        "rib_middle": rib,
        "rib_lower": 46.36 - 9.9 * b - 12.9 * a * beam,
        "pubis": 4.72 - 0.5 * d - 0.19 * b * c,
        "pillar": 10.58 - 0.674 * a * b - 1.95 * b * beam,
        "door": 16.45 - 0.489 * c * g - 0.843 * e * f,
    }


@problem(
    "penicillin",
    "yield, CO2 and hours of a fermenter, 7 parameters; hypervolume at most 2183456",
    Box([60, 0.05, 293, 0.05, 0.01, 500, 5], [120, 18, 303, 18, 0.5, 700, 6.5]),
    {"yield": "max", "co2": "min", "hours": "min"},
    reference={"yield": -25.935, "co2": 57.612, "hours": 935.5},  # BoTorch, which has less than no yield there
    hypervolume=2183455.909507436,
    budget=200,
)
def penicillin(x: Floats) -> dict[str, Floats]:
    """Volume, biomass, temperature, sugar, feed, sugar in the feed, pH at the start: the run of a fermenter."""
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


@dataclass
class _Tank:
    """The contents of n tanks, [n]: litres, and grams a litre (CO2 in total)."""

    volume: Floats
    biomass: Floats
    sugar: Floats
    drug: Floats
    co2: Floats


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
