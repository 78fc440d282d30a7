"""
A node model of your own
========================

Anything with ``fit`` and ``predict`` can sit at the nodes. Here it is the mean of a line per feature, which cannot
follow noise the way that a regression on all features can.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

from boostforest import BoostForestRegressor


class MeanOfLines(BaseEstimator):
    """A line per feature through the weighted means, and the mean of all lines."""

    def fit(self, X, y, sample_weight=None):
        """Fit the lines, each drawn a little towards the mean."""
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        self.centre_, self.level_ = np.average(X, axis=0, weights=w), np.average(y, weights=w)
        Z, r = X - self.centre_, y - self.level_
        self.slopes_ = (w * r) @ Z / (w @ Z**2 + 1.0) / X.shape[1]
        return self

    def predict(self, X):
        """Return the mean of the lines."""
        return self.level_ + (X - self.centre_) @ self.slopes_


# %%
# Models in Python are slower than the compiled ones (``"ridge"``, ``"constant"``, ``"elm"``, ``"svr"``), so take
# fewer trees.

X, y = load_diabetes(return_X_y=True)
models = {"constant": "constant", "MeanOfLines()": MeanOfLines(), "ridge": "ridge"}
scores = {
    name: cross_val_score(BoostForestRegressor(20, node_model=model, random_state=0), X, y, cv=4)
    for name, model in models.items()
}

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for place, (name, values) in enumerate(scores.items()):
    ax.plot(values, np.full(4, place), "o", color="0.6")
    ax.plot(values.mean(), place, "D", color="#0072B2")
    print(f"{name}: R² {values.mean():.3f}")
ax.set(yticks=range(3), yticklabels=scores, ylim=(-0.5, 2.5))
_ = ax.set_xlabel("R² of four folds, and the mean")
