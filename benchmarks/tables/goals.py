"""What the default is meant to reach on problems with constraints and with several objectives, in medians over seeds.

The anchors beside them are of other methods, as measured by us or as their authors published them.
"""

from typing import NamedTuple


class Goal(NamedTuple):
    """At most `limit` after `mark` evaluations (at least, where `least`).

    first: of the number of the first feasible evaluation; log10: of log10 of the error; else of the value itself.
    """

    problem: str
    mark: int
    limit: float
    least: bool = False
    first: bool = False
    log10: bool = False

    def met(self, median: float) -> bool:
        return median >= self.limit if self.least else median <= self.limit

    def __str__(self) -> str:
        what = "first feasible " if self.first else "log10 error " if self.log10 else ""
        return f"{what}{'>=' if self.least else '<='} {self.limit:g} at {self.mark}"


GOALS = (
    Goal("ackley-10", 100, 25, first=True),  # COBYQA: 32
    Goal("ackley-10", 100, 1.0),  # COBYQA: 2.49
    Goal("ackley-10", 200, 0.2),  # COBYQA: 1.16; SCBO: 0.32 at 190 (one run)
    Goal("speed-reducer", 100, -3.0, log10=True),  # COBYLA is there
    Goal("welded-beam", 100, -3.0, log10=True),  # COBYLA: 0.4 percent off
    *(Goal(name, 500, -4.0, log10=True) for name in ("g1", "g4", "g7", "g9", "g10", "g19")),  # SACOBRA: all but g9
    Goal("keane-30", 1000, -0.55),  # fmin_con2: -0.28 at 500
    Goal("branin-currin", 100, -0.17, log10=True),  # qEHVI in LaMOO's tree
    Goal("zdt1-10", 500, 120.5, least=True),  # NSGA-II needs 2000
    Goal("zdt2-10", 500, 120.0, least=True),
    Goal("zdt3-10", 500, 128.5, least=True),
    Goal("dtlz2-30", 500, 0.38, least=True),  # NSGA-II: 0
    Goal("dtlz2-100", 2000, 0.35, least=True),  # SMS-EMOA: 0
    Goal("c2-dtlz2-12", 500, 0.36, least=True),  # NSGA-II: 0.226
    Goal("welded-beam-2", 500, 0.503, least=True),  # Sobol: 0.437
)
