"""Six formulas of the BBOB suite: badly conditioned, ridged, or rippled ever more finely. Offsets u [n, d] to [n].

N. Hansen, S. Finck, R. Ros and A. Auger, "Real-parameter black-box optimization benchmarking 2009: noiseless functions
definitions", INRIA RR-6829, f10 to f14 and f17, on its box [-5, 5]. Left out are its irregularities (T_osz, T_asy, and
the stretching before f13 and f17), whose part the option `bend` plays, and its penalty outside the box. Each is 0 at
u = 0 and above 0 elsewhere.
"""

import numpy as np

from lamcts.types import Floats

CONDITION = 1e6  # of f10 to f12, as published


def ellipsoid(u: Floats) -> Floats:
    """f10: the axes' weights grow evenly, in their logarithm, from 1 to 10^6."""
    result: Floats = np.sum(CONDITION ** np.linspace(0, 1, u.shape[1]) * u**2, axis=1)
    return result


def discus(u: Floats) -> Floats:
    """f11: one axis is 1000 times as steep as all others."""
    result: Floats = CONDITION * u[:, 0] ** 2 + np.sum(u[:, 1:] ** 2, axis=1)
    return result


def cigar(u: Floats) -> Floats:
    """f12: one axis is 1000 times as flat as all others."""
    result: Floats = u[:, 0] ** 2 + CONDITION * np.sum(u[:, 1:] ** 2, axis=1)
    return result


def sharp_ridge(u: Floats) -> Floats:
    """f13: a slope down the first axis, with walls of 100 times the distance from it."""
    result: Floats = u[:, 0] ** 2 + 100 * np.sqrt(np.sum(u[:, 1:] ** 2, axis=1))
    return result


def different_powers(u: Floats) -> Floats:
    """f14: the exponents grow evenly from 2 to 6, so that the axes differ the more the nearer the minimum is."""
    result: Floats = np.sqrt(np.sum(np.abs(u) ** (2 + 4 * np.linspace(0, 1, u.shape[1])), axis=1))
    return result


def schaffer(u: Floats, ripples: Floats | None = None) -> Floats:
    """f17, Schaffer's F7: rings round the minimum, of each two neighbouring axes, that grow finer towards it."""
    s = np.hypot(u[:, :-1], u[:, 1:])  # [n, d - 1]
    weights = 1.0 if ripples is None else ripples[:-1]
    result: Floats = np.mean(np.sqrt(s) * (1 + weights * np.sin(50 * s**0.2) ** 2), axis=1) ** 2
    return result
