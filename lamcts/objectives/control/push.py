"""Push: two robot hands push two objects across a table towards their goals, in Box2D.

Wang, Gehring, Kohli and Jegelka, EBO, 2018, after https://github.com/zi-w/Ensemble-Bayesian-Optimization (MIT,
copyright 2017 Zi Wang; its notice is in `rover.py`): every size and friction below is part of the definition.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamcts.objectives.base import checked_noise, register
from lamcts.objectives.control.world import box2d
from lamcts.spaces.box import Box
from lamcts.text import shortened
from lamcts.types import Json

# All below is part of the definition, as in EBO's code.
# Of each hand: where it starts (x, y), its velocity (x, y), for how many tenths of a second it pushes, its first angle.
LOW, HIGH = (-5, -5, -10, -10, 2, 0), (5, 5, 10, 10, 30, 2 * np.pi)
SPIN = 5  # of each hand, after both: how fast it turns, either way
STARTS = ((0.0, 2.0), (0.0, -2.0))  # of a square and of a disc
GOALS = np.array([(4.0, 3.5), (-4.0, 3.5)])

# As in EBO's code, too:
STEPS_PER_SECOND = 100
COASTING = 100  # steps after the last push: what moves slides to a stop
ITERATIONS = 10  # of the solver for velocities, and for positions, in each step
OBJECT = {"density": 0.05, "friction": 0.01}
HAND = {"density": 0.1, "friction": 0.1}
HAND_SIZE = (1, 0.3)
GRIP = 30.0  # what a hand's miss of its velocity, or spin, is answered with, per mass
OBJECT_DRAG = {"maxForce": 5, "maxTorque": 2}  # of the table
HAND_DRAG = {"maxForce": 2, "maxTorque": 2}


@dataclass(frozen=True)
class Push:
    """The total distance that two objects move towards their goals, in metres; 0 if no hand meets an object.

    noise: standard deviation of the noise on each hand's velocity, along x and y (0.0; metres a second); paper: 0.01.
    """

    noise: float = 0.0

    name = "push"
    maximize = True
    x0 = None
    optimum = None
    ceiling = float(np.linalg.norm(GOALS - STARTS, axis=1).sum())  # 11.07

    @property
    def noisy(self) -> bool:
        return self.noise > 0

    @property
    def space(self) -> Box:
        return Box([*LOW, *LOW, -SPIN, -SPIN], [*HIGH, *HIGH, SPIN, SPIN])

    def fingerprint(self) -> Json:
        return {"game": self.name, "noise": float(self.noise)}

    def __call__(self, point: ArrayLike, *, seed: int | None = None) -> float:
        places = self.places(point, seed=seed)
        return float(self.ceiling - np.linalg.norm(GOALS - places, axis=1).sum())

    def places(self, point: ArrayLike, *, seed: int | None = None) -> NDArray[np.float64]:
        """Return where the two objects come to rest [object, xy] for `point` [14]."""
        x = np.asarray(point, float)
        if x.shape != (14,) or not np.isfinite(x).all():
            raise ValueError(f"expected 14 finite numbers in one row, got {shortened(str(x.tolist()))}")
        hands, spins = x[:12].reshape(2, 6), x[12:].tolist()
        velocities = hands[:, 2:4]
        if self.noise:
            velocities = velocities + np.random.default_rng(seed).normal(0, self.noise, (2, 2))
        steps = [int(seconds * 10) for seconds in hands[:, 4].tolist()]
        return _simulate(hands[:, :2].tolist(), hands[:, 5].tolist(), velocities.tolist(), spins, steps)


class _Body(Protocol):
    mass: float
    angularVelocity: float
    linearVelocity: object
    position: Iterable[float]

    def ApplyForce(self, force: object, point: object, wake: bool) -> None: ...
    def ApplyTorque(self, torque: float, wake: bool) -> None: ...
    def CreateFixture(self, **settings: object) -> object: ...


class _World(Protocol):
    def CreateDynamicBody(self, **where: object) -> _Body: ...
    def CreateFrictionJoint(self, **settings: object) -> object: ...


@register("push", "two hands push two objects to their goals, 14 numbers; maximize, at most 11.07", package="Box2D",
          extra="mujoco")  # fmt: skip
def push(noise: float = 0.0) -> Push:
    """Robot pushing in 14 dimensions. MissingExtra without Box2D.

    noise: as in `Push`.
    """
    box2d()
    return Push(checked_noise(noise))


def _simulate(
    places: list[list[float]],
    angles: list[float],
    velocities: list[list[float]],
    spins: list[float],
    steps: list[int],
) -> NDArray[np.float64]:
    """Return where the objects end [2, 2] after each hand has pushed for its number of steps."""
    b2 = box2d()
    world = b2.b2World(gravity=(0.0, 0.0), doSleep=True)
    table = world.CreateStaticBody(position=(0, 0))
    square, disc = b2.b2PolygonShape(box=(0.5, 0.5)), b2.b2CircleShape(radius=1)
    objects = [
        _body(world, table, OBJECT_DRAG, OBJECT, shape, position=start)
        for shape, start in zip((square, disc), STARTS, strict=True)
    ]
    blade = b2.b2PolygonShape(box=HAND_SIZE)
    hands = [
        _body(world, table, HAND_DRAG, HAND, blade, position=place, angle=angle)
        for place, angle in zip(places, angles, strict=True)
    ]
    wanted = [b2.b2Vec2(*velocity) for velocity in velocities]
    for step in range(max(steps) + COASTING):
        for hand, velocity, spin, last in zip(hands, wanted, spins, steps, strict=True):
            if step < last:
                hand.ApplyTorque(hand.mass * (spin - hand.angularVelocity) * GRIP, wake=True)
                hand.ApplyForce(hand.mass * (velocity - hand.linearVelocity) * GRIP, hand.position, wake=True)
        world.Step(1.0 / STEPS_PER_SECOND, ITERATIONS, ITERATIONS)
    return np.array([list(thing.position) for thing in objects])


def _body(
    world: _World, table: object, drag: dict[str, int], matter: dict[str, float], shape: object, **where: object
) -> _Body:
    """Return a new body of one shape, held back by friction on the table but free to slide over it."""
    body = world.CreateDynamicBody(**where)
    body.CreateFixture(shape=shape, **matter)
    world.CreateFrictionJoint(bodyA=table, bodyB=body, **drag)
    return body
