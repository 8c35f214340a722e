"""Known files: CSV as programs and people write it. What is well formed is read in full, the rest refused in words."""

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lamcts
from benchmarks.robustness.attacks.verdict import check_own, expect
from benchmarks.robustness.fuzzing.texts import codings, encoded, odd, spoilt, words
from lamcts.study.known import known_results
from lamcts.study.options import RunSettings
from lamcts.study.problem import problem_of

SPACES = (
    lamcts.Space(
        {"lr": lamcts.Float(1e-5, 1, log=True), "layers": lamcts.Int(1, 8), "act": lamcts.Choice(["a", "b, c"])}
    ),
    lamcts.Space({"a b": lamcts.Float(-1, 1), "flag": lamcts.Bool(), "\u00fc": lamcts.Choice([1, 2, 4], ordered=True)}),
    lamcts.Box(-5, 10, dim=3),
    lamcts.Space([lamcts.Int(0, 3), lamcts.Choice(["x;y", "", "1"])]),
)
GOALS: tuple[dict[str, Any], ...] = (
    {},
    {"objectives": {"cost": "min", "range": "max"}},
    {"objectives": ["cost"], "constraints": ["stress <= 30", "gap == 0 +- 0.5"]},
)


@st.composite
def files(draw: st.DrawFn) -> tuple[int, int, bytes, bool]:
    """Return which space, which goals, the bytes of a file, and whether it is as it should be."""
    which, goals = draw(st.integers(0, len(SPACES) - 1)), draw(st.integers(0, len(GOALS) - 1))
    columns, rows = table(which, goals, draw(st.integers(0, 6)))
    order = draw(st.permutations(range(len(columns))))
    separator, quoting = draw(st.sampled_from(",;\t")), draw(st.sampled_from((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)))
    more = draw(st.sampled_from(([], [], ["note"], ["date", "seconds"])))
    cells = [[columns[i] for i in order] + more]
    cells += [[row[i] for i in order] + [draw(words) for _ in more] for row in rows]
    end = draw(st.sampled_from(("\n", "\r\n")))
    sane = not any(set(cell) & set("\r\n") or "\0" in cell for row in cells for cell in row)
    if draw(st.booleans()):  # a cell, or a line, is not what it should be
        sane = False
        _spoil(draw, cells)
    text = _written(cells, separator, quoting, end)
    if not sane and draw(st.booleans()):
        text = draw(st.one_of(spoilt(st.just(text), (",", ";", "\t", '"', "\n", "\r", "\0")), odd))
    coding = draw(codings)
    return which, goals, encoded(text, coding), sane and coding.startswith("utf-8")


def table(which: int, goals: int, n: int) -> tuple[list[str], list[list[str]]]:
    """Return the columns and the cells of `n` results, always the same ones."""
    points, values = results(which, goals, n)
    names = [*parts(points[0])] if points else [*parts(results(which, goals, 1)[0][0])]
    columns = [*names, *(values[0] if values else results(which, goals, 1)[1][0])]
    pairs = zip(points, values, strict=True)
    return columns, [[*map(str, parts(point).values()), *map(repr, value.values())] for point, value in pairs]


def results(which: int, goals: int, n: int) -> tuple[list[Any], list[dict[str, float]]]:
    """Return `n` points of a space, and their numbers by name."""
    space, rng = SPACES[which], np.random.default_rng([which, goals])
    names = {0: ["value"], 1: ["cost", "range"], 2: ["cost", "stress", "gap"]}[goals]
    points = [space.decode(x) for x in space.sample(n, rng)]
    return points, [dict(zip(names, rng.normal(size=len(names)).tolist(), strict=True)) for _ in points]


def parts(point: Any) -> dict[str, Any]:
    return dict(point) if isinstance(point, dict) else {f"x{i + 1}": value for i, value in enumerate(point)}


def _written(cells: Sequence[Sequence[str]], separator: str, quoting: Any, end: str) -> str:
    out = StringIO()
    csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=end).writerows(cells)
    return out.getvalue()


def _spoil(draw: st.DrawFn, cells: list[list[str]]) -> None:
    """Change a cell, or take out, double or swap cells and lines."""
    i = draw(st.integers(0, len(cells) - 1))
    j = draw(st.integers(0, len(cells[i]) - 1))
    kind = draw(st.sampled_from(("cell", "cell", "cell", "out", "double", "line", "lines", "column")))
    if kind == "cell":
        cells[i][j] = draw(words)
    elif kind == "out":
        del cells[i][j]
    elif kind == "double":
        cells[i].insert(j, cells[i][j])
    elif kind == "line":
        del cells[i]
    elif kind == "lines":
        cells.insert(0, cells.pop(i))
    else:
        for row in cells:
            del row[j : j + 1]


def check(drawn: tuple[int, int, bytes, bool], folder: Path) -> bool:
    """Return whether results came of a file; Broken where they are others, or an error is not ours."""
    which, goals, data, sane = drawn
    file = folder / "known.csv"
    file.write_bytes(data)
    problem = problem_of(lambda point: 0.0, SPACES[which], None, RunSettings(budget=1, **GOALS[goals]))
    try:
        (found,) = known_results(file, problem)
    except Exception as error:
        check_own(error, "a file of known results", (ValueError,))
        expect(not sane, f"a well-formed file read: {data!r:.300}", error)
        return False
    if sane:
        points, values = results(which, goals, len(found))
        for one, point, value in zip(found, points, values, strict=True):
            same = (SPACES[which].encode(one.point) == SPACES[which].encode(point)).all()
            expect(same, f"the point {point}", one.point)
            told = one.value if isinstance(one.value, dict) else {"value": one.value}
            expect({**told, **(one.constraints or {})} == value, f"{value}", f"{told}, {one.constraints}")
    return True
