"""
Coming from RandomForest
========================

The same words: ``n_estimators``, ``max_features``, ``oob_score``, ``n_jobs``, ``feature_importances_``,
``apply``. Change the import, and look at the score.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split

from boostforest import BoostForestRegressor

X, y = make_friedman1(2000, noise=1, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=800, random_state=0)

# %%
# Constant leaves build slopes from steps, and need many rows for it. See how both learn from more of them.

sizes = [100, 200, 400, 800]
forests = {
    "RandomForest": RandomForestRegressor(250, random_state=0),
    "BoostForest": BoostForestRegressor(random_state=0),
}
errors = {
    name: [root_mean_squared_error(y_test, forest.fit(X_train[:n], y_train[:n]).predict(X_test)) for n in sizes]
    for name, forest in forests.items()
}
print({name: np.round(values, 2).tolist() for name, values in errors.items()})

# %%
# What is different: text and missing values need no encoder, ``predict_interval`` and ``explain`` are there,
# probabilities are calibrated, and ``max_samples``, ``min_samples_leaf`` and others may be
# pools from which each tree draws its own.

figure, ax = plt.subplots(layout="constrained")
for (name, values), style in zip(errors.items(), ("s--", "o-"), strict=True):
    ax.plot(sizes, values, style, label=name)
ax.axhline(1, color="0.5", linestyle=":", label="noise of the target")
ax.set(xscale="log", xlabel="training rows", ylabel="RMSE on test rows")
ax.set(ylim=(0, None), xticks=sizes, xticklabels=sizes)
ax.minorticks_off()
_ = ax.legend()
