"""
Intervals and quantiles
=======================

``predict_interval`` of any forest is as wide as errors are large for rows like the given one. ``loss="quantile"``
fits the ends themselves.
"""

import matplotlib.pyplot as plt
import numpy as np

from boostforest import BoostForestRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 1000))
y = np.sin(x) + x * rng.normal(0, 0.12, x.size)
X = x[:, np.newaxis]
train = rng.random(x.size) < 0.7
test = ~train

# %%
# Intervals of the mean forest: nine of ten targets, narrow where targets are near together.

forest = BoostForestRegressor(random_state=0).fit(X[train], y[train])
lower, upper = forest.predict_interval(X[test], coverage=0.9).T
print(f"predict_interval: {((lower <= y[test]) & (y[test] <= upper)).mean():.0%} of the test targets inside")

# %%
# Two forests of quantiles follow both ends of their own. Large leaves without slopes suit extreme quantiles.

low, high = (
    BoostForestRegressor(loss="quantile", quantile=q, node_model="constant", min_samples_leaf=25, random_state=0)
    .fit(X[train], y[train])
    .predict(X[test])
    for q in (0.05, 0.95)
)
print(f"quantiles: {((low <= y[test]) & (y[test] <= high)).mean():.0%} inside")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, title, ends in zip(axes, ["predict_interval", 'loss="quantile"'], [(lower, upper), (low, high)], strict=True):
    ax.fill_between(x[test], *ends, color="#56B4E9", alpha=0.5)
    ax.plot(x[test], y[test], ".", color="0.3", markersize=3)
    ax.set_title(title)
