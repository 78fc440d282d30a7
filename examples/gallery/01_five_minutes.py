"""
Five minutes
============

Fit a forest, judge it without a test set, ask it for intervals, see what matters, save it.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from boostforest import BoostForestRegressor, load_model, plot

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Nothing has to be tuned. The out-of-bag score comes from the rows that each tree has not drawn.

forest = BoostForestRegressor(oob_score=True, random_state=0).fit(X_train, y_train)
print(f"R² out of bag {forest.oob_score_:.2f}, on test rows {forest.score(X_test, y_test):.2f}")

# %%
# Intervals that hold nine of ten targets on average.

lower, upper = forest.predict_interval(X_test, coverage=0.9).T
inside = (lower <= y_test) & (y_test <= upper)
print(f"{inside.mean():.0%} of the test targets are within their interval")

# %%
# A file without pickle. The loaded model predicts the same, to the bit.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "diabetes.bf"
    forest.save_model(path)
    assert (load_model(path).predict(X_test) == forest.predict(X_test)).all()

# %%
# What matters: importances by shuffling, out of bag, with 95 % intervals.

_ = plot.importances(forest.permutation_importances(X_train, y_train))
