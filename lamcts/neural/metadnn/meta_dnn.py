"""The meta-DNN of AlphaX (thesis 3.2.3, 3.3.2). Torch loads at the first fit."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lamcts.errors import MissingExtra
from lamcts.neural.metadnn.settings import LEAST, MetaDnnSettings, Predictor
from lamcts.types import Floats, array_of, whole_number


@dataclass(frozen=True)
class MetaDnn(MetaDnnSettings):
    """Predict an architecture's accuracy from its encoding: the meta-DNN of AlphaX (thesis 3.2.3, 3.3.2).

    kind: "mlp" ("mlp"), the "recurrent" one, which reads one layer's code at a time, or "multistage": an expert for
        each range of accuracies, and a classifier that selects one; the simplest; paper: all three, AlphaX itself with
        the last.
    hidden: widths of the hidden layers ((256, 256); units), in all MLPs of a fit; untuned: 20,000 rows train in
        seconds; paper: (512, 2048, 2048, 512).
    steps: layers in the features, which the recurrent kind reads one by one (7; layers); the
        vertices of a NAS-Bench-101 cell; paper: the same.
    embedding: width of a layer's embedding in the recurrent kind (100; units); thesis 3.3.2.
    state: width of the LSTM's state (100; units); thesis 3.3.2.
    stages: ranges of accuracy, of equal width between the lowest and the highest, without `cuts` (4;
        ranges); thesis 3.3.2, whose example is 0 to 25 %.
    cuts: ascending bounds between the ranges (None: by `stages`; accuracies); benchmarks/neural/nas/metadnn.py:
        ranges of equal numbers of rows ranked worse, since the few failed networks form a cluster.
    routing: predict by the likeliest expert ("hard"), or by all, weighted by probability ("soft"); thesis 3.3.2.
    epochs: passes over the rows (30; epochs); untuned; paper: not stated.
    batch: rows of a gradient step (256; rows); untuned; paper: not stated.
    rate: initial learning rate of AdamW, which decays to 0 along a cosine (2e-3); untuned; paper: not stated.
    decay: its weight decay (0.1); untuned; paper: not stated.
    device: of torch ("cpu"); results for a seed are reproducible on the CPU only.
    """

    def fit(self, features: ArrayLike, accuracy: ArrayLike, seed: int = 0, start: Predictor | None = None) -> Predictor:
        """Fit the network to rows `features` [n, k] and their `accuracy` [n], at least two rows."""
        x, y = self._checked(features, accuracy)
        if find_spec("torch") is None:
            raise MissingExtra.of("torch", "torch")
        from lamcts.neural.metadnn.training import fit

        return fit(self, x, y, whole_number(seed, "fit: seed", least=0), start)

    def _checked(self, features: ArrayLike, accuracy: ArrayLike) -> tuple[Floats, Floats]:
        x, y = array_of(features).astype(np.float64), array_of(accuracy).astype(np.float64)
        if x.ndim != 2 or y.shape != x.shape[:1]:
            raise ValueError(f"fit: expected features [n, k] and accuracies [n], got {x.shape} and {y.shape}")
        if len(x) < LEAST or not x.shape[1]:
            raise ValueError(f"fit: expected at least {LEAST} rows of features, got {x.shape}; predict by a constant")
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise ValueError("fit: expected finite numbers, got some that are not; leave failed rows out")
        if self.kind == "recurrent" and x.shape[1] % self.steps:
            wrong = f"got {x.shape[1]}; set steps to the number of layers"
            raise ValueError(f"fit: expected features of {self.steps} layers of equal width, {wrong}")
        return x, y


def make(kind: str, **settings: Any) -> MetaDnn:
    """Return a `MetaDnn` of a kind, "mlp", "recurrent" or "multistage", with other settings as given."""
    return MetaDnn(kind=kind, **settings)  # type: ignore[arg-type]  # checked there
