"""
Counts
======

``loss="poisson"`` predicts expected counts: never negative, and not ruled by the few large ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split

from boostforest import BoostForestRegressor

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (1500, 5))
rate = np.exp(0.3 + 1.5 * X[:, 0] + np.sin(3 * X[:, 1]))
claims = rng.poisson(rate)
X_train, X_test, y_train, y_test, _, rate_test = train_test_split(X, claims, rate, test_size=0.4, random_state=0)

# %%
# Squared error may predict counts below zero; here they are cut off so that a deviance exists.

poisson = BoostForestRegressor(loss="poisson", random_state=0).fit(X_train, y_train)
squared = BoostForestRegressor(random_state=0).fit(X_train, y_train)
predicted = {'loss="poisson"': poisson.predict(X_test), "squared error": np.maximum(squared.predict(X_test), 1e-3)}
for name, values in predicted.items():
    print(f"{name}: deviance {mean_poisson_deviance(y_test, values):.3f}")
print(f"the true rates: {mean_poisson_deviance(y_test, rate_test):.3f}")

# %%
# Predictions beside the rates that the counts were drawn from.

figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True, layout="constrained")
for ax, (name, values) in zip(axes, predicted.items(), strict=True):
    ax.loglog(rate_test, values, ".", markersize=4, alpha=0.5)
    ax.loglog([0.1, 15], [0.1, 15], color="0.5", linestyle="--")
    ax.set(title=name, xlabel="true rate", ylim=(0.05, 30))
_ = axes[0].set_ylabel("prediction")
