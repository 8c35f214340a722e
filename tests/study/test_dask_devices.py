"""Workers of Dask with one device each, as the page on many workers starts them; no GPU is needed."""

import random
import re
from pathlib import Path

import pytest
from device_cases import meeting, seen_now

import lamcts

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install '.[dask]'")

PAGE = Path(__file__).parent.parent.parent / "docs" / "parallel.md"
HERE = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}  # threads of this process


@pytest.fixture(autouse=True)
def _dask_draws_from_the_global_generator():
    before = random.getstate()
    yield
    random.setstate(before)


def test_evaluations_at_the_same_time_have_numbers_of_their_own():
    with distributed.Client(n_workers=2, **HERE) as client:
        result = lamcts.minimize(meeting, [(0, 1)], budget=8, seed=0, sampler="uniform", executor=client)
    assert sorted(result.history.values.tolist()) == [0.0] * 4 + [1.0] * 4
    with pytest.raises(ValueError, match="devices: expected none with executor"):
        lamcts.minimize(meeting, [(0, 1)], budget=8, devices=2, executor=lambda: None)


@pytest.mark.dear
@pytest.mark.filterwarnings("ignore")  # of Dask, as processes come and go
def test_the_program_of_the_page_gives_each_worker_its_device():
    program = re.search(r"  ```python\n(  from distributed import Client, Nanny.*?)  ```", PAGE.read_text(), re.DOTALL)[
        1
    ]
    program = re.sub("^  ", "", program, flags=re.MULTILINE).replace(
        '"cls": Scheduler', '"cls": Scheduler, "options": QUIET'
    )
    names = {"lamcts": lamcts, "f": seen_now, "space": [(0, 1)], "QUIET": {"dashboard_address": "127.0.0.1:0"}}
    exec(compile(program, "a page", "exec"), names)
    assert {*names["result"].history.values.tolist()} == {0.0, 1.0, 2.0, 3.0}
