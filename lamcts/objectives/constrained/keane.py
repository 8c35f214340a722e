"""Keane's bump: hardly constrained, but rugged; its optimum lies on the constraint of the product."""

import numpy as np

from lamcts.objectives.base import register
from lamcts.objectives.problem import Problem
from lamcts.spaces.box import Box
from lamcts.types import Floats

LEAST = 1e-12  # replaces a divisor of 0, at the origin, which is far from product >= 0.75
# Best known, by dim: descents (SLSQP) from some 1,000 places, half of them changes of the best.
# 10 and 20 agree with the literature; for 30 it has -0.8180562 (BoTorch), this is -0.8218844.
BEST: dict[int, tuple[float, ...]] = {
    10: (
        *(3.123890382332254, 3.0691548777587574, 3.014282325468219, 2.9575883707710013, 1.466041360292607),
        *(0.36805851583458077, 0.3634823247469389, 0.3591206375087143, 0.35495428066393236, 0.3509666448149008),
    ),
    20: (
        *(3.1624606474460415, 3.128331446976071, 3.0947921542368464, 3.0614506139516076, 3.027929189662012),
        *(2.993826082946257, 2.9586687289473614, 2.9218422771821477, 0.49482513714664483, 0.4883571017773045),
        *(0.48231642080220666, 0.4766447310478162, 0.47129551103058354, 0.4662309997644516, 0.4614200570892683),
        *(0.456836639321459, 0.4524587623666686, 0.44826761568762, 0.4442470027519923, 0.44038286050635894),
    ),
    30: (
        *(6.2648406437269815, 3.150345525178806, 3.128091129511057, 3.106090413986529, 3.0842375115586074),
        *(3.0624316499099806, 3.040573188599391, 3.01855951454966, 2.996280749402548, 2.9736144499095953),
        *(2.9504186758182906, 2.926522145377855, 0.47666811027343386, 0.47309279054447057, 0.4696450794243799),
        *(0.4663154752216431, 0.46309554978580075, 0.45997780139882277, 0.4569555098880999, 0.4540226218708574),
        *(0.4511737102223629, 0.44840380635770344, 0.44570842460954957, 0.4430834601797951, 0.4405251539816309),
        *(0.43803005236608444, 0.4355949838171951, 0.43321701513166355, 0.43089345872429535, 0.42862177285735925),
    ),
}


@register("keane", "Keane's bump: waves under a wide funnel, product >= 0.75; best known -0.8219 in 30-D", budget=1000)
def keane(dim: int = 30, permute: int | None = None) -> Problem:
    """Keane's bump on [0, 10]^dim within product >= 0.75 and sum <= 7.5 dim.

    dim: how many parameters (30); the best value is known for 10, 20 and 30.
    permute: seed of a permutation of the parameters (None: no permutation).
    """
    if dim < 2:
        raise ValueError(f"expected dim of at least 2 for keane, got {dim}")
    at = np.array(BEST[dim]) if dim in BEST else None
    return Problem(
        "keane",
        Box(0, 10, dim=dim),
        _keane,
        {"value": "min"},
        ("product >= 0.75", f"sum <= {7.5 * dim:g}"),
        optimum=None if at is None else float(_keane(at[None])["value"][0]),
        at=at,
    ).permuted(permute)


def _keane(x: Floats) -> dict[str, Floats]:
    squares = np.cos(x) ** 2
    weighted = np.sqrt((np.arange(1, x.shape[1] + 1) * x**2).sum(1))  # [n]
    bump = np.abs((squares**2).sum(1) - 2 * squares.prod(1))
    value = -bump / np.maximum(weighted, LEAST)
    return {"value": value, "product": x.prod(1), "sum": x.sum(1)}
