import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'lamcts[torch]'")

from benchmarks.harness.sheet import Sheet
from benchmarks.neural import end_to_end
from benchmarks.neural.end_to_end import ARMS, COLUMNS, KEY, SCALES, Run, best, finished, texts
from lamcts.neural.train import Diverged, TrainObjective


def run(path, arm):
    made = Run(Sheet(path / "rows.csv", KEY, COLUMNS), texts(SCALES["smoke"], "cpu"), "text", "smoke", arm, 0)
    made.search()
    return made


def test_a_stopped_search_goes_on_by_its_rows_and_trains_nothing_twice(tmp_path, monkeypatch):
    trained, train = [], TrainObjective.train

    def counted(self, point, **how):
        trained.append(point)
        return train(self, point, **how)

    monkeypatch.setattr(TrainObjective, "train", counted)
    sheet = run(tmp_path, "lamcts").sheet
    whole, lines = sheet.rows(), sheet.path.read_text().splitlines(keepends=True)
    assert len(trained) == len(whole) == SCALES["smoke"].networks
    sheet.path.write_text("".join(lines[:3]))  # as killed after two of three
    run(tmp_path, "lamcts")
    assert len(trained) == 4 and [row["code"] for row in sheet.rows()] == [row["code"] for row in whole]
    run(tmp_path, "random")  # begins with the same two
    rows = sheet.rows()
    assert len(trained) <= 5 and [rows[i + 3]["valid"] for i in range(2)] == [rows[i]["valid"] for i in range(2)]


def test_only_whole_searches_count_and_a_training_that_diverges_is_not_chosen(tmp_path, monkeypatch):
    train, times = TrainObjective.train, []

    def diverging(self, point, **how):
        times.append(point)
        if len(times) == 1:
            raise Diverged("the loss is nan")
        return train(self, point, **how)

    monkeypatch.setattr(TrainObjective, "train", diverging)
    sheet = run(tmp_path, "evolution").sheet
    ended = finished(sheet, "text", "smoke")
    assert list(ended) == ["evolution"] and set(ended) <= set(ARMS)
    rows = ended["evolution"][0]
    assert rows[0]["valid"] == "nan" and best("text", rows) in rows[1:]
    sheet.path.write_text("".join(sheet.path.read_text().splitlines(keepends=True)[:-1]))
    assert not end_to_end.finished(sheet, "text", "smoke")
