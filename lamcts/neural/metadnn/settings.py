"""Settings of a meta-DNN and the protocol of its predictions, without torch."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, Protocol, get_args

from numpy.typing import ArrayLike

from lamcts.types import Floats, whole_number

Network = Literal["mlp", "recurrent", "multistage"]
Routing = Literal["hard", "soft"]
KINDS: tuple[Network, ...] = get_args(Network)
LEAST = 2  # rows of a fit: one row determines no slope


class Predictor(Protocol):
    """The result of a fit."""

    def __call__(self, features: ArrayLike) -> Floats:
        """Return the predicted accuracy [m] of rows `features` [m, k], in the unit of the fitted accuracies."""


@dataclass(frozen=True)
class MetaDnnSettings:
    """Fields of `MetaDnn`, which documents them."""

    kind: Network = "mlp"
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
