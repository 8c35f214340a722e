"""Lamcts as a generation node of Ax."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lamcts
from lamcts.errors import MissingExtra
from lamcts.optimizer import settings as identities
from lamcts.spaces import SearchSpace

try:
    from ax.core.parameter import ChoiceParameter, FixedParameter, RangeParameter
    from ax.exceptions.core import SearchSpaceExhausted
    from ax.generation_strategy.external_generation_node import ExternalGenerationNode
    from ax.storage.json_store.registry import CORE_DECODER_REGISTRY, CORE_ENCODER_REGISTRY
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] != "ax":
        raise
    raise MissingExtra.of("ax-platform", "ax") from None

if TYPE_CHECKING:
    from ax.core.data import Data
    from ax.core.experiment import Experiment
    from ax.core.optimization_config import OptimizationConfig
    from ax.core.outcome_constraint import OutcomeConstraint
    from ax.core.parameter import Parameter
    from ax.core.parameter_constraint import ParameterConstraint
    from ax.core.search_space import SearchSpace as AxSpace
    from ax.core.types import TParameterization
    from ax.generation_strategy.transition_criterion import TransitionCriterion
    from pandas import DataFrame


FAILED = ("FAILED",)  # states of a trial
ENDED = ("COMPLETED", "EARLY_STOPPED", *FAILED)
GONE = ("ABANDONED", "STALE")
PARTS = ("sampler",)  # settings that may be objects of lamcts


class LamctsNode(ExternalGenerationNode):  # type: ignore[misc]
    """A generation node of Ax that proposes arms by `lamcts.Optimizer`.

    Parameters
    ----------
    name : str, default "lamcts"
        The name of the node in its strategy.
    seed : int, default None
        Seed of every draw; None: a fresh seed.
    transition_criteria : sequence of TransitionCriterion, default None
        Conditions under which the next node takes over; None: never.
    **settings
        Settings of `lamcts.Optimizer`, such as sampler and n_init.

    Notes
    -----
    The node reads its results from the experiment, with trials of other nodes and of the user. A failed trial is a
    failure, one that stopped early counts with its last step, and an abandoned one is forgotten. A program that loads a
    client from JSON imports `lamcts.integrations.ax` first.
    """

    def __init__(
        self,
        name: str = "lamcts",
        seed: int | None = None,
        transition_criteria: "Sequence[TransitionCriterion] | None" = None,
        **settings: Any,
    ) -> None:
        super().__init__(name=name, transition_criteria=transition_criteria)
        self._seed, self._settings = seed, settings
        self._search: lamcts.Optimizer | None = None
        self._goals: AxGoals | None = None
        self._told: set[str] = set()  # names of arms, which Ax gives to each parameterization once
        self._saved: dict[str, Any] | None = None  # state and told arms of a loaded node, until the space is known

    def update_generator_state(self, experiment: "Experiment", data: "Data") -> None:
        """Tell the optimizer the new results of an experiment."""
        search, goals = self._up_to_date(experiment)
        means = _means(data.df)
        for number, trial in experiment.trials.items():
            state = trial.status.name
            for arm in trial.arms:
                found = None if state in FAILED else means.get((number, arm.name), {})
                if arm.name in self._told:
                    continue
                if state in GONE:
                    self._forget(arm.parameters)
                elif state in ENDED and (found is None or goals.complete(found)):
                    value, held = goals.told(found)
                    search.tell_point(arm.parameters, value, held)
                    self._told.add(arm.name)

    def get_next_candidate(self, pending_parameters: "list[TParameterization]") -> "TParameterization":
        """Return a parameterization; pending ones were proposed here, or Ax refuses them as repeated."""
        assert self._search is not None, "Ax updates the state first"
        try:
            return dict(self._search.ask()[0].point)
        except lamcts.Exhausted as error:
            raise SearchSpaceExhausted(str(error)) from None

    def _up_to_date(self, experiment: "Experiment") -> "tuple[lamcts.Optimizer, AxGoals]":
        """Return the optimizer and the goals; a new optimizer if the space or the goals changed."""
        space, goals = space_of(experiment.search_space), goals_of(experiment.optimization_config)
        search = self._search
        if search is None or (search.space.signature(), self._goals) != (space.signature(), goals):
            search = lamcts.Optimizer(space, seed=self._seed, **goals.arguments(), **self._settings)
            self._search, self._goals, self._told = search, goals, set()
            if self._saved is not None:
                with suppress(ValueError):  # of another space or goals: all results are told again
                    search.load_state_dict(json.loads(self._saved["state"]))
                    self._told = set(self._saved["told"])
                self._saved = None
        return search, goals

    def _forget(self, parameters: "TParameterization") -> None:
        assert self._search is not None, "called with it"
        for trial in self._search.pending:
            if trial.point == parameters:
                self._search.forget(trial)


def _encoded(node: LamctsNode) -> dict[str, Any]:
    """Return a node as values that Ax writes as JSON."""
    search, settings = node._search, dict(node._settings)
    for name in PARTS:
        if not identities.is_ours(given := settings.get(name)):
            raise ValueError(f"{name}: expected one of lamcts in a node that is saved, got {given!r}: give its name")
        settings |= {name: identities.identity(given)} if name in settings else {}
    state = {"state": json.dumps(search.state_dict()), "told": sorted(node._told)} if search else node._saved
    return {
        "__type": LamctsNode.__name__,
        "name": node.name,
        "seed": search.seed if search else node._seed,
        "transition_criteria": node.transition_criteria,
        "settings": settings,
        "saved": state,
    }


def _decoded(settings: dict[str, Any], saved: dict[str, Any] | None, **arguments: Any) -> LamctsNode:
    """Return the node of what `_encoded` returned, decoded by Ax."""
    parts = {name: identities.from_identity(settings[name]) for name in PARTS if name in settings}
    node = LamctsNode(**arguments, **settings | parts)
    node._saved = saved
    return node


CORE_ENCODER_REGISTRY[LamctsNode] = _encoded
CORE_DECODER_REGISTRY[LamctsNode.__name__] = _decoded


def _means(table: "DataFrame") -> dict[tuple[int, str], dict[str, float]]:
    """Return the means of metrics by trial and arm; of several steps the last."""
    found: dict[tuple[int, str], dict[str, float]] = {}
    for number, arm, metric, mean in _rows(table):
        found.setdefault((number, arm), {})[metric] = mean
    return found


def _rows(table: "DataFrame") -> Iterator[tuple[int, str, str, float]]:
    ordered = table.sort_values("step", kind="stable") if "step" in table.columns else table
    metric = "metric_signature" if "metric_signature" in table.columns else "metric_name"
    columns = (ordered[name] for name in ("trial_index", "arm_name", metric, "mean"))
    yield from ((int(number), arm, name, float(mean)) for number, arm, name, mean in zip(*columns, strict=True))


Weights = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class AxGoals:
    """Weighted sums of metrics: objectives to maximise; constraints as (weights, is it an upper bound, bound)."""

    objectives: tuple[Weights, ...]
    constraints: tuple[tuple[Weights, bool, float], ...]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `lamcts.Optimizer`."""
        bounds = [f"{_name(i)} {'<=' if most else '>='} {bound}" for i, (_, most, bound) in enumerate(self.constraints)]
        several = {"objectives": {_goal(i): "max" for i in range(len(self.objectives))}}
        return (several if len(self.objectives) > 1 else {"maximize": True}) | {"constraints": bounds or None}

    def told(
        self, means: Mapping[str, float] | None
    ) -> tuple[float | dict[str, float] | None, dict[str, float | None] | None]:
        """Return value and constraints of an arm from the means of its metrics, None for a failed arm."""
        if means is None:
            return None, dict.fromkeys(map(_name, range(len(self.constraints)))) if self.constraints else None
        values = [_sum(weights, means) for weights in self.objectives]
        held: dict[str, float | None] = {
            _name(i): _sum(weights, means) for i, (weights, *_) in enumerate(self.constraints)
        }
        return values[0] if len(values) == 1 else {_goal(i): value for i, value in enumerate(values)}, held or None

    def complete(self, means: Mapping[str, float]) -> bool:
        """Return whether there is a mean of each metric."""
        sums = [*self.objectives, *(weights for weights, *_ in self.constraints)]
        return all(name in means for weights in sums for name, _ in weights)


def goals_of(config: "OptimizationConfig | None") -> AxGoals:
    """Return the goals of an `OptimizationConfig`; ValueError for none, and for relative bounds."""
    if config is None:
        raise ValueError("expected an experiment with an objective, got none; call client.configure_optimization first")
    weights = [tuple(pair) for pair in config.objective.metric_weights]
    if not config.objective.is_multi_objective:
        objectives: tuple[Weights, ...] = (tuple(weights),)
    elif len(weights) == len(config.objective.expression.split(",")):
        objectives = tuple((pair,) for pair in weights)
    else:
        raise ValueError(f"expected objectives that are a metric each, got {config.objective.expression}")
    return AxGoals(objectives, tuple(map(_constraint, config.outcome_constraints)))


def _constraint(one: "OutcomeConstraint") -> tuple[Weights, bool, float]:
    if one.relative:
        raise ValueError(f"expected outcome constraints with bounds of their own, got the relative {one}")
    return tuple(tuple(pair) for pair in one.metric_weights), one.op.name == "LEQ", float(one.bound)


def _sum(weights: Sequence[tuple[str, float]], means: Mapping[str, float]) -> float:
    return float(sum(weight * means[name] for name, weight in weights))


def _goal(i: int) -> str:
    return f"objective{i}"


def _name(i: int) -> str:
    return f"constraint{i}"


def space_of(search_space: "AxSpace") -> SearchSpace:
    """Return the space of a `SearchSpace`: ranges, choices, fixed values, dependents, linear constraints.

    ValueError for parameters that are derived from others, and for constraints that are equations.
    """
    parameters = search_space.parameters
    when = _conditions(parameters)
    space = lamcts.Space({name: _member(one, when.get(name)) for name, one in parameters.items()})
    rules = [_rule(constraint) for constraint in search_space.parameter_constraints]
    return lamcts.Valid(space, rules, name=" and ".join(map(str, rules))) if rules else space


def _conditions(parameters: "Mapping[str, Parameter]") -> dict[str, dict[str, list[Any]]]:
    """Return the values of its parents that activate a parameter, by name."""
    found: dict[str, dict[str, list[Any]]] = {}
    for name, one in parameters.items():
        for value, children in (one.dependents if one.is_hierarchical else {}).items():
            for child in children:
                found.setdefault(child, {}).setdefault(name, []).append(value)
    return found


def _member(one: "Parameter", when: dict[str, list[Any]] | None) -> lamcts.Choice | lamcts.Int | lamcts.Float:
    if isinstance(one, ChoiceParameter):
        options = tuple(one.values)
        return lamcts.Choice(options, ordered=bool(one.is_ordered) and len(options) > 1, when=when)
    if isinstance(one, RangeParameter):
        if one.logit_scale or one.digits is not None:
            raise ValueError(f"{one.name}: expected a linear or log scale without digits, got {one}")
        if one.parameter_type.name == "INT":
            return lamcts.Int(int(one.lower), int(one.upper), log=bool(one.log_scale), when=when)
        return lamcts.Float(float(one.lower), float(one.upper), log=bool(one.log_scale), when=when)
    if isinstance(one, FixedParameter):
        return lamcts.Choice((one.value,), when=when)
    raise ValueError(f"{one.name}: expected a range, a choice or a fixed parameter, got {type(one).__name__}")


@dataclass(frozen=True)
class AtMost:
    """The rule that a weighted sum of parameters is at most a bound; it holds if a parameter is inactive."""

    weights: tuple[tuple[str, float], ...]
    bound: float

    def __call__(self, point: Mapping[str, Any]) -> bool:
        if any(name not in point for name, _ in self.weights):
            return True
        return sum(weight * float(point[name]) for name, weight in self.weights) <= self.bound

    def __str__(self) -> str:
        return f"{' + '.join(f'{weight} {name}' for name, weight in self.weights)} <= {self.bound}"


def _rule(constraint: "ParameterConstraint") -> AtMost:
    if getattr(constraint, "is_equality", False):
        raise ValueError(f"expected parameter constraints that are inequalities, got {constraint}")
    return AtMost(tuple(sorted(constraint.constraint_dict.items())), float(constraint.bound))
