"""Scikit-learn's habits: `lamcts.sklearn.LamctsSearchCV(estimator, parameters)`, where `RandomizedSearchCV` stood."""

from lamcts.integrations.sklearn import LamctsSearchCV

__all__ = ["LamctsSearchCV"]
