"""What every sampler proposed before anything was moved, it proposes after: see tests/golden/proposals.py."""

from importlib.util import find_spec

import numpy as np
import pytest

from tests.golden.proposals import DIGITS, FIRST, IMPATIENT, NAMES, ROUNDING, Case, arithmetic, cases, digest, load, run

RECORD = load()
ARITHMETIC = arithmetic()


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", [*cases()], ids=lambda case: case.key)
def test_the_same_seed_gives_the_points_on_record(case: Case) -> None:
    """Where the machine's arithmetic has other last bits, only the points that do not hang on them are compared."""
    _skip_without_its_package(case)
    kept = RECORD[case.key]
    points, last = run(case)
    exact = kept["arithmetic"] == ARITHMETIC
    first = kept["points"] if exact else kept["points"][:FIRST]
    assert np.abs(points[: len(first)] - np.array(first)).max() <= (10.0**-DIGITS if exact else ROUNDING)
    if exact:
        assert (digest(points), last) == (kept["hash"], kept["last"])


def _skip_without_its_package(case: Case) -> None:
    package = case.sampler.partition("-")[0].partition(":")[0]
    if package in ("cma", "nevergrad") and find_spec(package) is None:
        pytest.skip(f"needs the package {package}")


def test_the_record_is_whole_and_every_sampler_in_it_that_converges_began_again() -> None:
    assert set(RECORD) == {case.key for case in cases()}
    for name in [name for name in NAMES if name != "mixed_gp"]:  # which looks everywhere and never converges
        kind = name.partition(":")[0]
        last = [RECORD[case.key]["last"] for case in cases() if case.sampler.partition(":")[0].startswith(kind)]
        assert max(last) >= 1, name
    for name in IMPATIENT:
        assert all(RECORD[case.key]["last"] >= 1 for case in cases() if case.sampler == name and case.dim == 2), name
