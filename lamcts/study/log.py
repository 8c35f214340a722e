"""A run for `logging`, beneath the progress: the logger "lamcts" tells begin, end, failures, and evaluations (DEBUG).

logging.basicConfig(level=logging.INFO)
"""

import logging

from lamcts.study.result import Evaluation, Result
from lamcts.text import visible

logger = logging.getLogger("lamcts")


def begun(name: str, budget: int, done: int, known: int, seed: int) -> None:
    """Tell that a run begins; `done` evaluations are in its journal, `known` results were told."""
    logger.info("%s: %d evaluations, %d done, %d known, seed %d", visible(name), budget, done, known, seed)


def evaluated(one: Evaluation) -> None:
    """Tell of an evaluation."""
    if one.message is not None:
        logger.info("evaluation %d failed: %s", one.count, visible(one.message))
    elif one.pruned:
        logger.debug("evaluation %d: pruned after %.3g s", one.count, one.seconds)
    elif logger.isEnabledFor(logging.DEBUG):
        logger.debug("evaluation %d: %s in %.3g s, best %.6g", one.count, one.value, one.seconds, one.best)


def ended(result: Result) -> None:
    """Tell why a run has ended."""
    logger.info("%s; %d evaluations, best %s", visible(result.message), result.nfev, result.fun)
