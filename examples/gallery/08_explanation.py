"""
Explaining predictions
======================

What each column adds to a prediction: Shapley values that add up to it, to the last digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from boostforest import BoostForestRegressor, plot

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
forest = BoostForestRegressor(100, random_state=0).fit(X_train, y_train)

# %%
# Contributions and the base value, the mean over 100 rows of the background, add up to the prediction.

explanation = forest.explain(X_test[:60])
sums = explanation.values.sum(axis=1) + explanation.base_values
print(f"largest difference from the predictions: {np.abs(sums - forest.predict(X_test[:60])).max():.1e}")

# %%
# One prediction, and sixty of them.

plot.waterfall(explanation, 0)
_ = plot.beeswarm(explanation)

# %%
# How predictions depend on one column: the mean over all rows, and 20 rows behind it.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, column in zip(axes, ["bmi", "s5"], strict=True):
    plot.effect(forest, X_train, column, n_lines=20, ax=ax)
