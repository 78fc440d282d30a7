"""
A loss of your own
==================

``loss=`` takes a function of the target and the scores that returns the first and second derivatives of the loss, row
by row. Here, missing a target from below costs five times as much as from above: stock that runs out is worse than
stock that is left over.
"""

import matplotlib.pyplot as plt
import numpy as np

from boostforest import BoostForestRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 600))
demand = 20 + 5 * np.sin(x) + rng.normal(0, 2, x.size)
X = x[:, np.newaxis]


def rather_too_much(y, scores):
    """Return the derivatives of squared errors, of which those of too low scores count five times."""
    weight = np.where(scores < y, 5.0, 1.0)
    return weight * (scores - y), weight


# %%
# Scores start at 0, or at an ``offset``: the mean of the target is a good one. Predictions need it again.

start = np.full(x.size, demand.mean())
plain = BoostForestRegressor(100, preset="paper", min_samples_leaf=20, random_state=0).fit(X, demand).predict(X)
forest = BoostForestRegressor(100, preset="paper", min_samples_leaf=20, loss=rather_too_much, random_state=0)
careful = forest.fit(X, demand, offset=start).predict(X, offset=start)
for name, stock in {"squared error": plain, "own loss": careful}.items():
    print(f"{name}: runs out on {(stock < demand).mean():.0%} of the days")

# %%
# Compiled functions are taken as well (``scipy.LowLevelCallable``), without the interpreter's lock.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(x, demand, ".", color="0.75", markersize=4)
ax.plot(x, plain, color="0.4", linestyle="--", label="squared error")
ax.plot(x, careful, color="#0072B2", label="own loss")
ax.set(xlabel="time", ylabel="demand, and what to have in stock")
_ = ax.legend()
