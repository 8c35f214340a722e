"""The parameters of a space, and the codes that discrete searches and models use.

Letters: n rows, d coordinates, p parameters. A row of codes z [p] has one number a parameter: the number of the option
of a category, the coordinate in [0, 1] of any other parameter.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from lamcts.spaces.base import Activity, EncodedSpace, SearchSpace, is_conditional, middle_of, rows_of, unwrapped
from lamcts.spaces.base import Mask as Mask
from lamcts.spaces.joint import JointSpace
from lamcts.types import Floats

FEW_PARAMETERS = 20  # non-constant parameters of a partly discrete space: measured with 12, and with many more, trust
# regions are better


class JointColumns(NamedTuple):
    """Parameters that are the columns of one space and change together: a table, an order, a mixture, a subset."""

    part: slice  # which parameters
    space: JointSpace


class Parameters:
    """The parameters of a space, and its rows as codes.

    Parameters
    ----------
    space : SearchSpace
        Any space, of the package or not.

    Attributes
    ----------
    levels : tuple of (k,) arrays or None
        Valid codes of each parameter in ascending order; None for all of [0, 1], or for too many to list.
    categorical : (p,) bool array
        Parameters that are compared by equality alone: unordered options, and all with two values.
    non_constant : (p,) bool array
        Parameters with more than one value.
    move_units : (p,) bool array
        Non-constant parameters that a move can change; the first column of a table, permutation, mixture or subset
        represents all of its columns.
    joint : tuple of JointColumns
        The spaces inside whose columns change together.
    in_joint, in_permutation : (p,) bool array
        Parameters that are such columns; those of a `Permutation`.
    permutations : tuple of slice
        The columns of each `Permutation` inside, one for each item's place.
    conditional : bool
        Whether some parameters have conditions (`when`), so that inactive ones have one code, the middle.

    Examples
    --------
    >>> import lamcts
    >>> space = lamcts.Space({"act": lamcts.Choice(["relu", "gelu", "tanh"]), "width": lamcts.Int(1, 5)})
    >>> lamcts.spaces.Parameters(space).codes(space.encode({"act": "gelu", "width": 2})[None])
    array([[1.  , 0.25]])
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        parameters, self._rules = _read(space)
        self._by_conditions = [rule for rule in self._rules if rule.by_conditions]
        self.conditional = bool(self._by_conditions)
        self._parts = [parameter.part for parameter in parameters]
        self._owners = [parameter.owner for parameter in parameters]
        self.levels: tuple[Floats | None, ...] = tuple(parameter.levels for parameter in parameters)
        widths = self.widths = np.array([part.stop - part.start for part in self._parts])
        self.starts = np.array([part.start for part in self._parts])
        counts = np.array([0 if levels is None else len(levels) for levels in self.levels])
        self.categorical: Mask = (widths > 1) | (counts == 2)
        is_continuous = space.continuous
        self.continuous: Mask = np.array([bool(is_continuous[part].any()) for part in self._parts])
        self.non_constant: Mask = counts != 1
        joint = [(i, parameter.joint) for i, parameter in enumerate(parameters) if parameter.joint is not None]
        self.joint = tuple(JointColumns(slice(i, i + joint_space.dim), joint_space) for i, joint_space in joint)
        self.permutations: tuple[slice, ...] = tuple(part for part, joint_space in self.joint if joint_space.is_order)
        self.in_joint, self.in_permutation = np.zeros((2, len(parameters)), bool)
        self.move_units: Mask = self.non_constant.copy()
        for part, joint_space in self.joint:
            self.in_joint[part] = True
            self.move_units[part] = False
            self.move_units[part.start] = joint_space.size > 1
        for part in self.permutations:
            self.in_permutation[part] = True
            self.categorical[part] = False

    @property
    def may_be_inactive(self) -> bool:
        """Whether conditions (`when`) or a method `active(z)` of the space make some parameters inactive."""
        return bool(self._rules)

    @property
    def all_numeric(self) -> bool:
        """Whether there are non-constant parameters, and all of them are numbers that are always active."""
        others = (self.categorical & self.non_constant) | (self.in_permutation & self.move_units)
        numbers = self.non_constant & ~self.categorical & ~self.in_permutation
        return not self.may_be_inactive and not others.any() and bool(numbers.any())

    @property
    def count(self) -> int:
        return len(self._parts)

    @property
    def mostly_discrete(self) -> bool:
        """Whether at least half of the non-constant parameters are discrete."""
        return 2 * int(np.count_nonzero(~self.continuous & self.non_constant)) >= int(
            np.count_nonzero(self.non_constant)
        )

    @property
    def partly_discrete(self) -> bool:
        """Whether few parameters vary, and some but not most of these are discrete."""
        few = int(np.count_nonzero(self.non_constant)) <= FEW_PARAMETERS
        return few and not self.mostly_discrete and bool((~self.continuous & self.non_constant).any())

    def codes(self, x: Floats) -> Floats:
        """Return the codes [n, p] of valid rows `x` [n, d]."""
        if self._narrow:
            return x
        return np.column_stack(
            [x[:, part].argmax(1) if part.stop - part.start > 1 else x[:, part.start] for part in self._parts]
        ).astype(np.float64)

    def rows(self, z: Floats) -> Floats:
        """Return the valid rows [n, d] nearest to codes `z` [n, p]."""
        if self._narrow:
            return self.space.snap(z)
        x = np.zeros((len(z), self.space.dim))
        for i, part in enumerate(self._parts):
            if part.stop - part.start > 1:
                x[np.arange(len(z)), part.start + z[:, i].astype(np.int64)] = 1.0
            else:
                x[:, part.start] = z[:, i]
        return self.space.snap(x)

    def active(self, z: Floats) -> Mask:
        """Return which parameters are active in rows of codes `z` [n, p], [n, p]."""
        return _all_active(self._rules, z)

    def entered(self, z: Floats, was_active: Mask, rng: np.random.Generator) -> Floats:
        """Return codes `z` [n, p] with random values of newly active parameters, and the middle of inactive ones."""
        if not self.conditional:
            return z
        z = z.copy()
        while (is_new := self.active(z) & ~was_active).any():  # a drawn value may activate others
            drawn = self._any_codes(len(z), rng)
            z[is_new] = drawn[is_new]
            was_active = was_active | is_new
        np.copyto(z, self._middle, where=~_all_active(self._by_conditions, z))
        return z

    @cached_property
    def _middle(self) -> Floats:
        """The codes of a space whose parameters are all inactive, [p]."""
        middle: Floats = self.codes(middle_of(unwrapped(self.space))[None])[0]
        return middle

    def _any_codes(self, n: int, rng: np.random.Generator) -> Floats:
        """Return codes [n, p] drawn for every parameter, as if all were active."""
        z = rng.random((n, self.count))
        for i, levels in enumerate(self.levels):
            z[:, i] = self.valid(i, z[:, i]) if levels is None else levels[(z[:, i] * len(levels)).astype(np.int64)]
        for part, space in self.joint:
            z[:, part] = space.sample(n, rng)
        return z

    def valid(self, i: int, values: Floats) -> Floats:
        """Return the valid codes nearest to `values` of a parameter without levels."""
        owner = self._owners[i]
        return values if owner is None else np.asarray(owner.snap(values[:, None])[:, 0], np.float64)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Return the codes of `n` valid rows drawn uniformly, [n, p]."""
        return self.codes(self.space.sample(n, rng))

    @cached_property
    def _narrow(self) -> bool:
        """Whether codes and coordinates are the same."""
        return all(part.stop - part.start == 1 for part in self._parts)


class _Parameter(NamedTuple):
    """Coordinates and levels of a parameter."""

    part: slice
    levels: Floats | None
    owner: SearchSpace | None = None  # the space of a number with too many levels to list
    joint: JointSpace | None = None  # of the first column, the space of all columns


class _Activity(NamedTuple):
    """A function from codes to active parameters; by_conditions: from `when`."""

    part: slice
    active: Callable[[Floats], Mask]
    by_conditions: bool


def active_coordinates(space: SearchSpace, x: Floats) -> Mask:
    """Return the coordinates of active parameters in valid rows `x` [n, d], [n, d]."""
    if not is_conditional(space):
        return np.ones(x.shape, bool)
    parameters = Parameters(space)
    return np.repeat(parameters.active(parameters.codes(x)), parameters.widths, axis=1)


def _all_active(rules: Iterable[_Activity], z: Floats) -> Mask:
    """Return which parameters are active in codes `z` [n, p] by all rules, [n, p]."""
    result = np.ones(z.shape, bool)
    for part, active, _ in rules:
        result[:, part] &= np.asarray(active(z[:, part]), bool)
    return result


def _read(space: SearchSpace) -> tuple[list[_Parameter], list[_Activity]]:
    """Return the parameters of a space in order, and the rules of their activity."""
    space = unwrapped(space)
    if isinstance(space, EncodedSpace) and space.members:
        parameters, rules = _of_members(space)
    else:
        parameters = list(_single(space))
        rules = []
    if (active := getattr(space, "active", None)) is not None:  # an optional method of users' spaces
        rules.append(_Activity(slice(0, len(parameters)), active, False))
    return parameters, rules


def _of_members(space: EncodedSpace) -> tuple[list[_Parameter], list[_Activity]]:
    parameters: list[_Parameter] = []
    rules: list[_Activity] = []
    edges = [0]  # the first parameter of each member
    for member, part in zip(space.members, space.parts, strict=True):
        member_parameters, inside = _read(member)
        rules += [rule._replace(part=_shifted(rule.part, edges[-1])) for rule in inside]
        parameters += [parameter._replace(part=_shifted(parameter.part, part.start)) for parameter in member_parameters]
        edges.append(len(parameters))
    if space.conditions is not None:
        rules.append(_Activity(slice(0, edges[-1]), partial(_by_conditions, space.conditions, edges), True))
    return parameters, rules


def _by_conditions(conditions: Activity, edges: list[int], z: Floats) -> Mask:
    """Return the active parameters of a product; member i has edges[i] to edges[i + 1]."""
    members = conditions.activity_in_codes(len(z), lambda i: z[:, edges[i] : edges[i + 1]])
    return np.repeat(members, np.diff(edges), axis=1)


def _shifted(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


def _single(space: SearchSpace) -> Iterator[_Parameter]:
    """Yield the parameters of a space without members."""
    if isinstance(space, JointSpace):
        for column, levels in enumerate(space.levels):
            yield _Parameter(slice(column, column + 1), levels, joint=None if column else space)
    else:
        yield from _by_blocks(space)


def _by_blocks(space: SearchSpace) -> Iterator[_Parameter]:
    for block in space.blocks:
        width = block.stop - block.start
        if width > 1 and len(space.blocks) == 1 and space.size == width:  # one coordinate an option
            yield _Parameter(block, np.arange(width, dtype=np.float64))
        elif space.continuous[block].any() or width > 1 or len(space.blocks) > 1:
            yield from (_Parameter(slice(i, i + 1), None) for i in range(block.start, block.stop))
        else:
            rows = rows_of(space)
            yield _Parameter(block, None, owner=space) if rows is None else _Parameter(block, np.sort(rows[:, 0]))
