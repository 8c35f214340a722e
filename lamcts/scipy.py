"""SciPy interface: `lamcts.scipy.minimize(f, bounds)`; `scipy.optimize.minimize(..., method=lamcts.scipy.method)`."""

from lamcts.integrations.scipy import method, minimize

__all__ = ["method", "minimize"]
