"""Few-shot NAS: several supernets, each of a part of the space. Needs torch."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.fewshot.darts import FewShotSearched, few_shot_darts
from lamcts.neural.fewshot.fewshot import FewShot, Rounds, SubSupernets
from lamcts.neural.fewshot.splits import Exhaustive, Halves, Matching, SupernetSplit

__all__ = [
    "Exhaustive",
    "FewShot",
    "FewShotSearched",
    "Halves",
    "Matching",
    "Rounds",
    "SubSupernets",
    "SupernetSplit",
    "few_shot_darts",
]
