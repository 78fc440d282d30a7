"""A model of your own at the nodes: anything with fit and predict will do. Here, the mean of a line per feature."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

from boostforest import BoostForestRegressor


class MeanOfLines(BaseEstimator):
    def fit(self, X, y, sample_weight=None):  # without sample_weight, rows are repeated or drawn by their weights
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        self.centre_, self.level_ = np.average(X, axis=0, weights=w), np.average(y, weights=w)
        Z, r = X - self.centre_, y - self.level_
        self.slopes_ = (w * r) @ Z / (w @ Z**2 + 1.0) / X.shape[1]
        return self

    def predict(self, X):
        return self.level_ + (X - self.centre_) @ self.slopes_


X, y = load_diabetes(return_X_y=True)
for node_model in ("constant", MeanOfLines(), "ridge"):
    forest = BoostForestRegressor(20, node_model=node_model, random_state=0)
    print(f"{node_model!s:>14}: R² {cross_val_score(forest, X, y, cv=3).mean():.3f}")
