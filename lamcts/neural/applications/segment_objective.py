"""An objective that trains the segmenter of each architecture, and says its mean intersection over union."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lamcts.nas.base import Point
from lamcts.neural.train.objective import MEGA, PERCENT, TrainObjective
from lamcts.rng import fresh_seed

if TYPE_CHECKING:
    from lamcts.neural.applications.segmenter import Segmenter


@dataclass(frozen=True, eq=False)
class SegmentObjective(TrainObjective):
    """The mean intersection over union, in per cent of the validation data, of a segmenter trained from nothing.

    architectures: the space of backbones: NASNet cells, or cells with an operation on each edge.
    data: images [n, c, h, w] and the classes [n, h, w] of their pixels, such as `shapes()`.
    recipe: how they are trained; nothing in it may change images.
    sizes: what `segmenter` takes, such as `widths`, `cells` and `head`.
    score, device, folder, keyed: as in `TrainObjective`; `score` is what is said of an epoch, of pixels.
    """

    maker = "segmenter"

    @property
    def name(self) -> str:
        return f"{self.architectures.name} as the backbone of a segmenter on {self.data.name}"

    @property
    def maximize(self) -> bool:
        return True

    def __call__(self, point: Point, *, seed: int | None = None) -> float:  # type: ignore[override]  # no pruning
        """Return the validation score of a point's segmenter after the last epoch."""
        return self.judged(point, seed=fresh_seed() if seed is None else seed)[0]

    def judged(self, point: Point, *, seed: int) -> tuple[float, float]:
        """Return the scores on the validation and on the test data, in per cent."""
        from lamcts.neural.applications.iou import mean_iou

        net, data = self.train(point, seed=seed).net, self.data
        return PERCENT * mean_iou(net, data.valid, data.classes), PERCENT * mean_iou(net, data.test, data.classes)

    def network(self, point: Point, seed: int) -> "Segmenter":
        from lamcts.neural.applications.segmenter import segmenter

        known = {"channels": self.data.shape[0], "classes": self.data.classes}
        return segmenter(self.architectures, point, **known, seed=seed, **dict(self.sizes))

    def costs(self, point: Point) -> dict[str, float]:
        """Return what a segmenter costs, units in the names, as in `TrainObjective`, but for `peak_mb`."""
        from lamcts.neural.build.sizes import size_of

        cost = size_of(self.network(point, 0), self.data.shape)
        return {"params": float(cost.parameters), "mflops": cost.flops / MEGA}

    def fingerprint(self) -> dict[str, Any]:
        """Return what two runs must share for one to go on where the other stopped, as JSON values."""
        return super().fingerprint() | {"made": self.maker}
