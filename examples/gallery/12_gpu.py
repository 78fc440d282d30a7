"""
On a GPU
========

``device="auto"`` grows trees on a GPU where there is one, PyTorch sees it, and the table is large enough for it to be
faster; otherwise on the processor. The random draws are the same, so the trees are, but for rounding. A fitted
forest is an ordinary one: files, explanations and exports do not know where it has grown.
"""

import importlib.util

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

from boostforest import BoostForestRegressor, plot

has_gpu = False
if importlib.util.find_spec("torch"):
    import torch

    has_gpu = torch.cuda.is_available()
print("There is a GPU." if has_gpu else "There is no GPU here: device='auto' takes the processor.")

# %%
# The same program runs on machines with a GPU and without.

X, y = make_friedman1(2000, noise=1, random_state=0)
forest = BoostForestRegressor(100, device="auto", preset="paper", random_state=0).fit(X[:1000], y[:1000])
print(f"R² on other rows: {forest.score(X[1000:], y[1000:]):.3f}")

# %%
# How the error falls with the number of trees.

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
_ = plot.convergence(forest, X[1000:], y[1000:], ax=ax)
