"""What the parameters of a run do: which matter, the values along each, what to expect over pairs, and all at once."""

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lamcts.models.forest import Forest, rank_of
from lamcts.plot.canvas import COLOURS, FAINT, LABEL, NOTE, TITLE, VALUES, dot, literal, page, sheet, styled, titled
from lamcts.spaces.named_parameters import NamedParameter, NamedParameters
from lamcts.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS = 20  # parameters whose importance is drawn (by eye)
MOST_SLICES = 9  # panels of a sheet (by eye)
MOST_CONTOURS = 3  # parameters of which each pair has a panel
MOST_AXES = 8  # parameters on parallel axes (by eye)
MOST_LINES = 500  # on parallel axes, the best
COLUMNS = 3  # of panels
GRID = 30  # points to an axis of a contour
RANK = "share of evaluations that are no better"  # what the forest learns, in words


class Effects(NamedTuple):
    """Evaluations in order of arrival: x [n, d], its parameters, values [n], losses [n] that rank them (nan: none)."""

    x: Floats
    space: NamedParameters
    values: Floats
    loss: Floats
    name: str

    @classmethod
    def of(cls, record: Any) -> "Effects":
        """Return those of `Journal.read(path)`; ValueError for several objectives, or too few evaluations that differ.

        With constraints, rows are ranked by what the search compares them by.
        """
        if not hasattr(record, "goals"):
            raise ValueError(f"expected what `Journal.read(path)` returns, got {type(record).__name__}")
        if len(record.goals.objectives) > 1:
            raise ValueError("expected one objective, got several: draw the front, or write a report")
        space = NamedParameters(record.fingerprint.get("space"), record.x.shape[1])
        found = cls(record.x, space, record.values, record.y, record.goals.objectives[0].name)
        if not found.forest().ready:
            raise ValueError(f"expected 20 evaluations or more that differ, got {record.n}: run on, or draw `best`")
        return found

    def forest(self) -> Forest:
        return Forest(self.x, self.loss, [one.part for one in self.space.parameters])


def importance(effects: Effects, *, title: str = "Importance of parameters") -> "Figure":
    """Draw what a random forest loses of R² on rows held out when the values of one parameter are exchanged."""
    forest = effects.forest()
    order = forest.order[:MOST_BARS]
    figure, axes = sheet(7.2, 1.4 + 0.28 * len(order))
    axes.barh(range(len(order)), forest.importance[order], color=COLOURS[0])
    axes.set_yticks(range(len(order)), [literal(effects.space.names[i]) for i in order])
    axes.invert_yaxis()
    titled(axes, title, f"loss of R² when exchanged (of {forest.score:.2f} on rows held out)", "")
    return figure


def slices(effects: Effects, *, title: str = "Slices") -> "Figure":
    """Draw the values against each of the parameters that matter most; the brighter, the later."""
    order = effects.forest().order[:MOST_SLICES]
    figure, panels = _panels(len(order))
    columns, shown = effects.space.values(effects.x), np.arange(1.0, len(effects.x) + 1)
    for axes, i in zip(panels, order, strict=True):
        dots = axes.scatter(
            _numbers(columns[i], effects.space.parameters[i]), effects.values, s=dot(len(shown)), c=shown, cmap=VALUES
        )
        _scale(axes, "x", effects.space.parameters[i])
        titled(axes, "", effects.space.names[i], effects.name)
        axes.set_ylim(*_height(effects))
    figure.suptitle(title, fontsize=TITLE, fontweight="bold")
    figure.colorbar(dots, ax=panels, pad=0.02, shrink=0.9).set_label("evaluation", fontsize=NOTE)
    return figure


def contours(effects: Effects, *, title: str = "What a forest expects") -> "Figure":
    """Draw the rank that a random forest expects over pairs of the numbers that matter most, and the evaluations."""
    forest, parameters = effects.forest(), effects.space.parameters
    pairs = list(combinations([i for i in forest.order if parameters[i].options is None][:MOST_CONTOURS], 2))
    if not pairs:
        raise ValueError("expected two parameters that are numbers, got fewer: draw `slice` instead")
    figure, panels = _panels(len(pairs))
    columns, steps = effects.space.values(effects.x), (np.arange(GRID) + 0.5) / GRID
    across, up = (grid.reshape(-1, 1) for grid in np.meshgrid(steps, steps))
    for axes, (i, j) in zip(panels, pairs, strict=True):
        z = forest.expected(i, across, j, up).reshape(GRID, GRID)
        field = axes.contourf(_native(effects, i, steps), _native(effects, j, steps), z, 12, cmap=VALUES)
        figure.colorbar(field, ax=axes, pad=0.02, shrink=0.9)
        x, y = (_numbers(columns[k], parameters[k]) for k in (i, j))
        axes.scatter(x, y, s=dot(len(x)) / 2, color="white", edgecolors="black", linewidths=0.4)
        for side, k in (("x", i), ("y", j)):
            _scale(axes, side, parameters[k])
        titled(axes, "", effects.space.names[i], effects.space.names[j])
    figure.suptitle(f"{title}: {RANK}", fontsize=TITLE, fontweight="bold")
    return figure


def parameters(effects: Effects, *, title: str = "Parameters") -> "Figure":
    """Draw the best evaluations as lines across the parameters that matter most; the brighter, the better."""
    from matplotlib import colormaps

    order = effects.forest().order[:MOST_AXES]
    best = np.argsort(np.where(np.isnan(effects.loss), np.inf, effects.loss), kind="stable")
    rows = best[: min(MOST_LINES, int(np.isfinite(effects.loss).sum()))][::-1]
    figure, axes = sheet(max(6.0, 1.3 * len(order) + 1.5), 4.4)
    columns, rank = effects.space.values(effects.x[rows]), rank_of(effects.loss)[rows]
    heights = np.column_stack([_heights(axes, k, columns[i], effects.space.parameters[i]) for k, i in enumerate(order)])
    for line, shade in zip(heights, rank, strict=True):
        axes.plot(range(len(order)), line, color=colormaps[VALUES](float(shade)), alpha=0.6, linewidth=1)
    axes.set_xticks(range(len(order)), [literal(effects.space.names[i]) for i in order], fontsize=LABEL)
    axes.set_yticks([])
    axes.set_ylim(-0.1, 1.1)
    titled(axes, f"{title} of the best {len(rows)} evaluations", "", "")
    return figure


def _panels(n: int) -> "tuple[Figure, list[Axes]]":
    across = min(n, COLUMNS)
    down = -(-n // across)
    figure = page(3.4 * across + 1.2, 2.8 * down + 0.6)
    return figure, [styled(figure.add_subplot(down, across, i + 1)) for i in range(n)]


def _numbers(column: list[Any], parameter: NamedParameter) -> Floats:
    """Return values as numbers [n]: options by their place; nan where a point has none."""
    if parameter.options is None:
        return np.array([np.nan if value is None else value for value in column], float)
    places = {option: float(place) for place, option in enumerate(parameter.options)}
    return np.array([places.get(value, np.nan) for value in column])


def _native(effects: Effects, i: int, steps: Floats) -> Floats:
    """Return the values of a number at coordinates `steps` [g]."""
    parameter = effects.space.parameters[i]
    width = parameter.part.stop - parameter.part.start
    return _numbers(effects.space.along(i, np.repeat(steps[:, None], width, axis=1)), parameter)


def _scale(axes: "Axes", side: str, parameter: NamedParameter) -> None:
    if parameter.options is not None:
        getattr(axes, f"set_{side}ticks")(range(len(parameter.options)), [*map(literal, parameter.options)])
    elif parameter.log:
        getattr(axes, f"set_{side}scale")("log")


def _height(effects: Effects) -> tuple[float, float]:
    """Return the ends of the values' axis: the far tail of bad values is cut off."""
    known = np.isfinite(effects.values) & np.isfinite(effects.loss)
    good = known & (rank_of(effects.loss) > 0.05)
    shown = effects.values[good]
    margin = 0.06 * float(np.ptp(shown)) or 0.06 * abs(float(shown[0])) or 1.0
    return float(shown.min()) - margin, float(shown.max()) + margin


def _heights(axes: "Axes", place: int, column: list[Any], parameter: NamedParameter) -> Floats:
    """Return how high values [n] stand on a parallel axis, in [0, 1], and write what stands at its ends."""
    values = _numbers(column, parameter)
    scaled = np.log(values) if parameter.log else values
    if np.isnan(values).all():  # none of these points has it
        return values
    low, high = np.nanmin(scaled), np.nanmax(scaled)
    axes.axvline(place, color=FAINT, linewidth=1, zorder=1)
    for end, y, side in ((np.nanmin(values), -0.03, "top"), (np.nanmax(values), 1.03, "bottom")):
        words = f"{end:.4g}" if parameter.options is None else literal(parameter.options[int(end)])
        axes.text(place, y, words, ha="center", va=side, fontsize=NOTE)
    height: Floats = (scaled - low) / (high - low) if high > low else np.full(len(scaled), 0.5)
    return height
