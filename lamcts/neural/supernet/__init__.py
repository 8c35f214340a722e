"""Supernets: shared weights of all architectures of a space. Needs torch."""

from lamcts.neural import needs_torch  # noqa: F401
from lamcts.neural.supernet.base import Supernet, recalibrate
from lamcts.neural.supernet.build import supernet
from lamcts.neural.supernet.darts import Darts, Searched
from lamcts.neural.supernet.objective import SupernetObjective
from lamcts.neural.supernet.once_for_all import OnceForAll, extreme
from lamcts.neural.supernet.region import SupernetRegion
from lamcts.neural.supernet.relaxed import Relaxed

__all__ = ["Darts", "OnceForAll", "Relaxed", "Searched", "Supernet", "SupernetObjective", "SupernetRegion", "extreme"]
__all__ += ["recalibrate", "supernet"]
