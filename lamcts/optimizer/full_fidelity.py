"""The confirmation of predictions at full fidelity."""

from lamcts.observations import Observations
from lamcts.optimizer.trials import Trials
from lamcts.samplers.fidelities import Configurations, model_of
from lamcts.spaces.base import SearchSpace
from lamcts.spaces.fidelity import FidelityAxis
from lamcts.threads import one_blas_thread
from lamcts.trial import Trial

CONFIRMING = -2  # source of rows that confirm a prediction, next to the numbers of searches and -1, the design


class Confirming:
    """The part of `Optimizer` that confirms predictions. The loop is in `optimizer.py`."""

    space: SearchSpace
    seen: Observations
    _trials: Trials

    @one_blas_thread()
    def ask_full(self) -> Trial | None:
        """Return a trial at full fidelity of the configuration that is predicted to be best there.

        Returns
        -------
        Trial or None
            The configuration with the largest expected improvement on the best full evaluation; before one, with the
            best prediction. None without a `Fidelity`, and if no evaluated configuration is left.

        Examples
        --------
        >>> import lamcts
        >>> opt = lamcts.Optimizer({"x": lamcts.Float(0, 1), "epochs": lamcts.Fidelity(1, 9)}, seed=0)
        >>> for _ in range(6):
        ...     (trial,) = opt.ask()
        ...     opt.tell(trial, trial.point["x"] + 1 / trial.point["epochs"])
        >>> opt.ask_full().point["epochs"]
        9
        """
        axis = FidelityAxis.of(self.space)
        if axis is None:
            return None
        known = Configurations(axis, self.seen, self.seen.pending_x())
        row = known.best_open(model_of(axis, self.seen))
        return None if row is None else self._trials.issue(row, CONFIRMING, None)
