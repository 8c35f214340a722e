"""Lamcts as a search of scikit-learn, in the interface of `RandomizedSearchCV`.

search = LamctsSearchCV(SVC(), {"C": scipy.stats.loguniform(1e-3, 1e3), "kernel": ["linear", "rbf"]}, n_iter=50)
search.fit(X, y).best_params_
"""

from lamcts.integrations.sklearn.search import LamctsSearchCV

__all__ = ["LamctsSearchCV"]
