"""
Small models
============

Most digits of the coefficients say nothing. ``compress`` leaves out what does not matter, and then trees, down to
the bytes that you have.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from boostforest import BoostForestRegressor, plot

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
forest = BoostForestRegressor(random_state=0).fit(X_train, y_train)

# %%
# The training rows are judged out of bag: no other rows are needed.

small = forest.compress(max_bytes=50_000, X=X_train, y=y_train)
print(f"R² on test rows: before {forest.score(X_test, y_test):.3f}, compressed {small.score(X_test, y_test):.3f}")

# %%
# What each step made of the file and of the loss.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
_ = plot.compression(small, ax=ax)
