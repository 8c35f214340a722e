"""Sixteen test functions with known optima; shift, rotation, distortion and noise are settings.

Boxes of the first four as in the thesis (section 5.6.1), those of the last six as in BBOB. All functions have these
settings:

dim: number of parameters (20; absent where the function has a fixed number); thesis 5.4.2: 20, and 100.
shift: displacement of the minimum, a seed, "reference" or a vector (None: no displacement). A seed draws each
    coordinate from a quarter of the range either way, and "reference" is a fixed draw; paper: none. Without a shift
    the minimum of the first four is at or near the centre of the box, where many methods start.
rotate: rotation about the minimum, a seed or "reference" (None: no rotation); paper: none.
noise: standard deviation of normal noise on each value (0.0; in the function's unit); paper: none.
bend: seed of a distortion of the axes (None: no distortion). It bends each axis, scales some axes up to 100 times as
    much as others before the rotation, and scales the ripples of each coordinate by 0.3 to 3 (`bending`). Without
    `shift` it also draws the position of the optimum from the whole box; untuned; paper: none.
"""

import math

from lamcts.objectives.base import register
from lamcts.objectives.synthetic import formulas
from lamcts.objectives.synthetic.placing import Landscape, Rotate, Shift, Synthetic

# Boxes: the first four thesis 5.6.1; the others as in the Virtual Library of Simulation Experiments (`formulas.py`).
_ACKLEY = Landscape("ackley", formulas.ackley, -5, 10, 0, rippled=True)
_ROSENBROCK = Landscape("rosenbrock", formulas.rosenbrock, -10, 10, 1, least_dim=2)
_RASTRIGIN = Landscape("rastrigin", formulas.rastrigin, -5.12, 5.12, 0, rippled=True)
_LEVY = Landscape("levy", formulas.levy, -10, 10, 1, rippled=True)
_GRIEWANK = Landscape("griewank", formulas.griewank, -600, 600, 0, rippled=True)
_SCHWEFEL = Landscape(
    "schwefel", formulas.schwefel, -formulas.SCHWEFEL_EDGE, formulas.SCHWEFEL_EDGE, formulas.SCHWEFEL_AT
)
_STYBLINSKI_TANG = Landscape("styblinski-tang", formulas.styblinski_tang, -5, 5, formulas.STYBLINSKI_TANG_AT)
_MICHALEWICZ = Landscape("michalewicz", formulas.michalewicz, 0, math.pi, formulas.michalewicz_at)
_HARTMANN6 = Landscape("hartmann6", formulas.hartmann6, 0, 1, formulas.HARTMANN6_AT)
_BRANIN = Landscape("branin", formulas.branin, (-5, 0), (10, 15), formulas.BRANIN_AT)
_ELLIPSOID = Landscape("ellipsoid", formulas.ellipsoid, -5, 5, 0)
_DISCUS = Landscape("discus", formulas.discus, -5, 5, 0)
_CIGAR = Landscape("cigar", formulas.cigar, -5, 5, 0)
_SHARP_RIDGE = Landscape("sharp-ridge", formulas.sharp_ridge, -5, 5, 0)
_DIFFERENT_POWERS = Landscape("different-powers", formulas.different_powers, -5, 5, 0)
_SCHAFFER = Landscape("schaffer", formulas.schaffer, -5, 5, 0, least_dim=2, rippled=True)


@register("ackley", "one deep funnel among many small dents; minimum 0")
def ackley(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """Ackley on [-5, 10]^dim, minimum 0 at 0 + shift."""
    return _ACKLEY.place(dim, shift, rotate, noise, bend)


@register("rosenbrock", "a long curved valley, flat along its floor; minimum 0")
def rosenbrock(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """Rosenbrock on [-10, 10]^dim, minimum 0 at 1 + shift."""
    return _ROSENBROCK.place(dim, shift, rotate, noise, bend)


@register("rastrigin", "a bowl with a grid of deep local minima; minimum 0")
def rastrigin(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """Rastrigin on [-5.12, 5.12]^dim, minimum 0 at 0 + shift."""
    return _RASTRIGIN.place(dim, shift, rotate, noise, bend)


@register("levy", "waves across a gentle bowl; minimum 0")
def levy(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """Levy on [-10, 10]^dim, minimum 0 at 1 + shift."""
    return _LEVY.place(dim, shift, rotate, noise, bend)


@register("griewank", "a wide bowl with ripples that fade as dim grows; minimum 0")
def griewank(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """Griewank on [-600, 600]^dim, minimum 0 at 0 + shift."""
    return _GRIEWANK.place(dim, shift, rotate, noise, bend)


@register("schwefel", "deep minima far apart, the best in a corner; minimum 0")
def schwefel(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """Schwefel 2.26 on [-500, 500]^dim, minimum 0 at 420.97 + shift; continued beyond 500 as in CEC 2014."""
    return _SCHWEFEL.place(dim, shift, rotate, noise, bend)


@register("styblinski-tang", "two minima on every axis, one of them slightly better; minimum -39.166 dim")
def styblinski_tang(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """Styblinski-Tang on [-5, 5]^dim, minimum -39.166 dim at -2.9035 + shift."""
    return _STYBLINSKI_TANG.place(dim, shift, rotate, noise, bend)


@register("michalewicz", "a flat plain with narrow trenches (m = 10); minimum near -dim")
def michalewicz(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """Michalewicz (m = 10) on [0, pi]^dim; the minimum (-1.8013, -4.6877, -9.6602 for dim 2, 5, 10) is computed."""
    return _MICHALEWICZ.place(dim, shift, rotate, noise, bend)


@register("hartmann6", "four overlapping dents in six dimensions; minimum -3.32237", budget=200)
def hartmann6(shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None) -> Synthetic:
    """Hartmann's function on [0, 1]^6, minimum -3.32237."""
    return _HARTMANN6.place(6, shift, rotate, noise, bend)


@register("branin", "three equal minima in two dimensions; minimum 0.397887", budget=100)
def branin(shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None) -> Synthetic:
    """Branin's function on [-5, 10] x [0, 15], minimum 0.397887 at (pi, 2.275) + shift, and twice more."""
    return _BRANIN.place(2, shift, rotate, noise, bend)


@register("ellipsoid", "a bowl whose axes differ a thousandfold, evenly; minimum 0")
def ellipsoid(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """The ellipsoid of BBOB (f10) on [-5, 5]^dim, minimum 0 at 0 + shift."""
    return _ELLIPSOID.place(dim, shift, rotate, noise, bend)


@register("discus", "a bowl with one axis a thousand times as steep; minimum 0")
def discus(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """The discus of BBOB (f11) on [-5, 5]^dim, minimum 0 at 0 + shift."""
    return _DISCUS.place(dim, shift, rotate, noise, bend)


@register("cigar", "a bowl with one axis a thousand times as flat; minimum 0")
def cigar(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """The cigar of BBOB (f12) on [-5, 5]^dim, minimum 0 at 0 + shift."""
    return _CIGAR.place(dim, shift, rotate, noise, bend)


@register("sharp-ridge", "a gentle slope along the bottom of a sharp cleft; minimum 0")
def sharp_ridge(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """The sharp ridge of BBOB (f13) on [-5, 5]^dim, minimum 0 at 0 + shift."""
    return _SHARP_RIDGE.place(dim, shift, rotate, noise, bend)


@register("different-powers", "a bowl that is flatter, axis by axis, the nearer it is; minimum 0")
def different_powers(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """The different powers of BBOB (f14) on [-5, 5]^dim, minimum 0 at 0 + shift."""
    return _DIFFERENT_POWERS.place(dim, shift, rotate, noise, bend)


@register("schaffer", "rings that grow finer towards the minimum, 0")
def schaffer(
    dim: int = 20, shift: Shift = None, rotate: Rotate = None, noise: float = 0.0, bend: int | None = None
) -> Synthetic:
    """Schaffer's F7 (BBOB f17) on [-5, 5]^dim, minimum 0 at 0 + shift."""
    return _SCHAFFER.place(dim, shift, rotate, noise, bend)
