import json

from lamcts.samplers.parts.record import from_json, to_json
from lamcts.samplers.parts.trust_region import TrustRegionState


def after(progress: TrustRegionState) -> tuple[int, int]:
    return progress.successes, progress.failures


def test_a_batch_with_one_improvement_is_one_success_and_no_failure() -> None:
    progress = TrustRegionState(0.8)
    notes = progress.issue(5)
    progress.tell(notes, [False, False, True, True, False])
    assert after(progress) == (1, 0)


def test_the_order_of_results_does_not_matter_to_successes() -> None:
    progress = TrustRegionState(0.8)
    notes = progress.issue(3)
    for note, better in zip(notes, [False, True, False], strict=True):
        progress.tell([note], [better])
    assert after(progress) == (1, 0)


def test_failures_are_counted_in_evaluations_and_end_a_row_of_successes() -> None:
    progress = TrustRegionState(0.8)
    progress.tell(progress.issue(2), [True, False])
    progress.tell(progress.issue(3), [False] * 3)
    assert after(progress) == (0, 3)


def test_the_points_to_begin_with_count_as_nothing() -> None:
    progress = TrustRegionState(0.8, n_start=4)
    notes = progress.begin(4) + progress.issue(2)
    assert progress.n_start == 0
    progress.tell(notes[:4], [True, False, False, False])
    assert after(progress) == (0, 0)
    progress.tell(notes[4:], [False, False])
    assert after(progress) == (0, 2)


def test_many_late_results_of_one_box_shrink_it_once() -> None:
    progress = TrustRegionState(0.8)
    for note in progress.issue(200):
        progress.tell([note], [False])
        progress.resize(3, 20, 1.6)
    assert progress.length == 0.4
    for note in progress.issue(20):
        progress.tell([note], [False])
        progress.resize(3, 20, 1.6)
    assert progress.length == 0.2


def test_the_box_doubles_after_enough_successes_and_only_so_far() -> None:
    progress = TrustRegionState(0.8)
    for _ in range(6):
        progress.tell(progress.issue(1), [True])
        progress.resize(3, 20, 1.2)
    assert progress.length == 1.2
    assert after(progress) == (0, 0)


def test_forgotten_notes_close_their_group() -> None:
    progress = TrustRegionState(0.8)
    progress.tell(progress.issue(1), [True])
    notes = progress.issue(3)
    progress.tell(notes[:1], [False])
    progress.forget(notes[1:])
    assert not progress.groups
    assert not progress.n_pending
    assert after(progress) == (0, 1)


def test_the_state_comes_back_through_json() -> None:
    progress = TrustRegionState(0.8, n_start=3)
    notes = progress.begin(3) + progress.issue(4) + progress.issue(2)
    progress.tell(notes[3:5], [True, False])
    progress.tell(progress.issue(1), [True])
    copy = from_json(TrustRegionState, json.loads(json.dumps(to_json(progress))))
    assert copy == progress
