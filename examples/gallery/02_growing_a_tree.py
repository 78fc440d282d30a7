"""
A BoostTree grows, node by node
===============================

A BoostTree has a ridge regression at every node below the root, each fitted to what the models above it leave over.
With one feature the whole tree can be drawn.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from boostforest import BoostTreeRegressor, export_text

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 250))
y = np.sin(x) + 0.2 * x + rng.normal(0, 0.2, x.size)
X = x[:, np.newaxis]

# %%
# The same seed gives the same splits, so a tree with one leaf more is the tree before with one of its leaves split.
# Thick lines are predictions, dashed lines thresholds. The first tree may not be split, so
# it is a single regression.

warnings.filterwarnings("ignore", "min_samples_leaf")  # the first tree shall have a single node
sizes = [{"min_samples_leaf": 200}, *({"max_leaf_nodes": n} for n in (2, 3, 4, 5, 7))]
grid = np.linspace(0, 10, 1000)[:, np.newaxis]
figure, axes = plt.subplots(2, 3, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
for ax, size in zip(axes.flat, sizes, strict=True):
    tree = BoostTreeRegressor(**size, n_cuts=20, random_state=0).fit(X, y)
    nodes = tree.to_dataframe()
    ax.plot(x, y, ".", color="0.75", markersize=3)
    ax.plot(grid, tree.predict(grid), color="#0072B2", linewidth=2)
    for threshold in nodes["threshold"].dropna():
        ax.axvline(threshold, color="#D55E00", linestyle="--", linewidth=0.8)
    ax.set_title(f"{len(nodes)} node{'s' if len(nodes) > 1 else ''}, R² {tree.score(X, y):.2f}", fontsize="medium")

# %%
# The last tree as text: a model at each leaf is the sum of those on the way to it, in the units of the table.

print(export_text(tree))
