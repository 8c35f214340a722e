"""Scikit-learn interface: `lamcts.sklearn.LamctsSearchCV`, a replacement of `RandomizedSearchCV`."""

from lamcts.integrations.sklearn import LamctsSearchCV

__all__ = ["LamctsSearchCV"]
