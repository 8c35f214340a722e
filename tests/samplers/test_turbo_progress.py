import json

from lamcts.samplers.progress import Progress


def after(progress: Progress) -> tuple[int, int]:
    return progress.successes, progress.failures


def test_a_batch_with_one_improvement_is_one_success_and_no_failure() -> None:
    progress = Progress(0.8, start=0)
    tags = progress.issue(0, 5)
    progress.tell(tags, [False, False, True, True, False])
    assert after(progress) == (1, 0)


def test_the_order_of_results_does_not_matter_to_successes() -> None:
    progress = Progress(0.8, start=0)
    tags = progress.issue(0, 3)
    for tag, better in zip(tags, [False, True, False], strict=True):
        progress.tell([tag], [better])
    assert after(progress) == (1, 0)


def test_failures_are_counted_in_evaluations_and_end_a_row_of_successes() -> None:
    progress = Progress(0.8, start=0)
    progress.tell(progress.issue(0, 2), [True, False])
    progress.tell(progress.issue(0, 3), [False] * 3)
    assert after(progress) == (0, 3)


def test_the_points_to_begin_with_count_as_nothing() -> None:
    progress = Progress(0.8, start=4)
    tags = progress.issue(4, 2)
    assert progress.start == 0
    progress.tell(tags[:4], [True, False, False, False])
    assert after(progress) == (0, 0)
    progress.tell(tags[4:], [False, False])
    assert after(progress) == (0, 2)


def test_many_late_results_of_one_box_shrink_it_once() -> None:
    progress = Progress(0.8, start=0)
    for tag in progress.issue(0, 200):
        progress.tell([tag], [False])
        progress.resize(3, 20, 1.6)
    assert progress.length == 0.4
    for tag in progress.issue(0, 20):
        progress.tell([tag], [False])
        progress.resize(3, 20, 1.6)
    assert progress.length == 0.2


def test_the_box_doubles_after_enough_successes_and_only_so_far() -> None:
    progress = Progress(0.8, start=0)
    for _ in range(6):
        progress.tell(progress.issue(0, 1), [True])
        progress.resize(3, 20, 1.2)
    assert progress.length == 1.2
    assert after(progress) == (0, 0)


def test_forgotten_tags_close_their_group() -> None:
    progress = Progress(0.8, start=0)
    progress.tell(progress.issue(0, 1), [True])
    tags = progress.issue(0, 3)
    progress.tell(tags[:1], [False])
    progress.forget(tags[1:])
    assert not progress.groups
    assert not progress.tags
    assert after(progress) == (0, 1)


def test_the_state_comes_back_through_json() -> None:
    progress = Progress(0.8, start=3)
    tags = progress.issue(3, 4) + progress.issue(0, 2)
    progress.tell(tags[3:5], [True, False])
    copy = Progress.restore(json.loads(json.dumps(progress.state())))
    assert copy == progress
