"""A run in TensorBoard: `minimize(..., callback=TensorboardCallback("logs"))`."""

import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamcts.errors import MissingExtra
from lamcts.integrations.tracker import TrackedTrial, Tracker

try:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2, summary_v2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] != "tensorboard":
        raise
    raise MissingExtra.of("tensorboard", "tensorboard") from None

if TYPE_CHECKING:
    from lamcts.study.result import Result

TRIAL = "trial-"  # before the number of a trial, in the name of its folder


class TensorboardCallback(Tracker):
    """Log a run to TensorBoard: a run for each trial, with its numbers as scalars."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        super().__init__()
        self._folder = Path(folder)
        self._writer: Any = None

    def _begin(self, result: "Result") -> Collection[int]:
        names = [path.name.removeprefix(TRIAL) for path in self._folder.glob(f"{TRIAL}*") if path.is_dir()]
        self._writer = EventFileWriter(str(self._folder))
        return [int(name) for name in names if name.isdecimal()]

    def _log(self, trial: TrackedTrial) -> None:
        end = time.time()
        start = end - (trial.seconds if trial.seconds > 0 else 0)
        name = f"{TRIAL}{trial.number}"
        hparams = {name: _shown(value) for name, value in trial.parameters.items()}
        with _written(self._folder / name) as writer:
            writer.add_event(_event(summary_v2.hparams_pb(hparams, trial_id=name, start_time_secs=start)))
            for step, values in trial.reports.items():
                for tag, value in values.items():
                    writer.add_event(_scalar(tag, value, step))
            for tag, value in trial.numbers.items():
                writer.add_event(_scalar(tag, value, trial.count))
            writer.add_event(_event(_ended(trial.state == "failed", end)))
        if trial.best is not None:
            self._writer.add_event(_scalar("best", trial.best, trial.count))

    def _update(self, result: "Result") -> None:
        if "front" in result:
            self._writer.add_event(_scalar("front", len(result.front), self._count))
        self._writer.flush()

    def _end(self, failed: bool) -> None:
        self._writer.close()


@contextmanager
def _written(folder: Path) -> Iterator[Any]:
    writer = EventFileWriter(str(folder))
    try:
        yield writer
    finally:
        writer.close()


def _event(summary: Any, step: int = 0) -> Any:
    return Event(wall_time=time.time(), step=step, summary=summary)


def _scalar(tag: str, value: float, step: int) -> Any:
    return _event(Summary(value=[Summary.Value(tag=tag, simple_value=value)]), step)


def _ended(failed: bool, seconds: float) -> Any:
    """Return the end of a trial for the HParams page."""
    status = api_pb2.STATUS_FAILURE if failed else api_pb2.STATUS_SUCCESS
    end = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=seconds)
    content = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(session_end_info=end))
    return Summary(
        value=[Summary.Value(tag=metadata.SESSION_END_INFO_TAG, metadata=content, tensor=metadata.NULL_TENSOR)]
    )


def _shown(value: object) -> bool | float | str:
    """Return a value as HParams takes it."""
    return value if isinstance(value, (bool, int, float, str)) else str(value)
