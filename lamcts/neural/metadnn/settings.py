"""What a meta-DNN is made with, and what it answers. Nothing here loads torch: fitting does."""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, Literal, Protocol, get_args

import numpy as np

from lamcts.errors import MissingExtra
from lamcts.types import Floats, array_of, whole_number

Kind = Literal["mlp", "recurrent", "multistage"]
Routing = Literal["hard", "soft"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LEAST = 2  # rows that a fit needs: of one, every slope would do


class Predictor(Protocol):
    """What a fit returns."""

    def __call__(self, features: Any) -> Floats:
        """Return the predicted accuracy of each row of `features` [m, k], in the unit of those it learnt from, [m]."""


@dataclass(frozen=True)
class MetaDnn:
    """Predict an architecture's accuracy from its encoding: the meta-DNN of AlphaX (thesis 3.2.3, 3.3.2).

    kind: "mlp" ("mlp"), the "recurrent" one, which reads a layer's code at a time, or "multistage": an expert for each
        range of accuracies, and a classifier that says which one answers; the simplest; paper: all three, AlphaX
        itself with the last.
    hidden: widths of the hidden layers ((256, 256); units), which all MLPs of a fit have; untuned: what twenty
        thousand rows train in seconds; paper: (512, 2048, 2048, 512).
    steps: layers that the features are cut in, which the recurrent kind reads one after the other (7; layers); the
        vertices of a NAS-Bench-101 cell; paper: the same.
    embedding: width of what the recurrent kind makes of a layer's code (100; units); thesis 3.3.2.
    state: width of the LSTM's state (100; units); thesis 3.3.2.
    stages: ranges of accuracy, of equal width between the lowest and the highest, where `cuts` does not say them (4;
        ranges); thesis 3.3.2, whose example is 0 to 25 %.
    cuts: where one range ends and the next begins, ascending (None: by `stages`; accuracies); benchmarks/metadnn.py:
        ranges of equal numbers of rows ranked worse, since the few failed networks are a kind of their own.
    routing: the likeliest expert answers ("hard"), or all do, weighted by how likely they are ("soft"); thesis 3.3.2.
    epochs: how often the rows are gone through (30; times); untuned; paper: not stated.
    batch: rows of a gradient step (256; rows); untuned; paper: not stated.
    rate: step of AdamW at first, from where it falls to 0 along a cosine (2e-3); untuned; paper: not stated.
    decay: its weight decay (0.1); untuned; paper: not stated.
    device: where it computes ("cpu"); the same seed gives the same numbers everywhere only there.
    """

    kind: Kind = "mlp"
    hidden: tuple[int, ...] = (256, 256)
    steps: int = 7
    embedding: int = 100
    state: int = 100
    stages: int = 4
    cuts: tuple[float, ...] | None = None
    routing: Routing = "hard"
    epochs: int = 30
    batch: int = 256
    rate: float = 2e-3
    decay: float = 0.1
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, choices in (("kind", KINDS), ("routing", get_args(Routing))):
            if (got := getattr(self, name)) not in choices:
                near = get_close_matches(str(got), choices, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"MetaDnn: {name}: expected one of {', '.join(choices)}, got {got!r}{hint}")
        for name in ("steps", "embedding", "state", "stages", "epochs", "batch"):
            whole_number(getattr(self, name), f"MetaDnn: {name}")
        if not self.hidden:
            raise ValueError("MetaDnn: hidden: expected the widths of at least one layer, got none; pass (256,)")
        for width in self.hidden:
            whole_number(width, "MetaDnn: hidden")
        if self.cuts is not None and list(self.cuts) != sorted(set(self.cuts)):
            raise ValueError(f"MetaDnn: cuts: expected ascending accuracies, got {self.cuts}")

    def fit(self, features: Any, accuracy: Any, seed: int = 0, start: Predictor | None = None) -> Predictor:
        """Return what was learnt from rows `features` [n, k] and their `accuracy` [n], at least two.

        The same for a seed, and nothing global is seeded. `start`: the predictor of an earlier fit of these settings,
        whose weights it goes on from.
        """
        x, y = self._checked(features, accuracy)
        if find_spec("torch") is None:
            raise MissingExtra.of("torch", "torch")
        from lamcts.neural.metadnn.training import fit

        return fit(self, x, y, whole_number(seed, "fit: seed", least=0), start)

    def _checked(self, features: Any, accuracy: Any) -> tuple[Floats, Floats]:
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
    """Return the settings of a kind by its name, "mlp", "recurrent" or "multistage", others as given."""
    return MetaDnn(kind=kind, **settings)  # type: ignore[arg-type]  # checked there
