"""The estimators of every task, and what tests compare of them."""

from functools import partial

import numpy as np

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor

TREES = {"regression": BoostTreeRegressor, "binary": BoostTreeClassifier, "multiclass": BoostTreeClassifier}
#: The paper's forests.
FORESTS = {
    "regression": partial(BoostForestRegressor, preset="paper"),
    "binary": partial(BoostForestClassifier, preset="paper"),
    "multiclass": partial(BoostForestClassifier, preset="paper"),
}


def output(model, X):
    """Return predictions, or probabilities."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def out_of_bag(forest):
    """Return out-of-bag predictions, or probabilities."""
    return forest.oob_decision_function_ if hasattr(forest, "oob_decision_function_") else forest.oob_prediction_


def contents(fitted):
    """Return all columns of a model as bytes."""
    return {name: array.tobytes() for name, array in fitted.forest_.arrays().items()}


def assert_same_trees(fitted, expected):
    """Assert that two models have the same columns."""
    for name, column in expected.forest_.arrays().items():
        np.testing.assert_array_equal(getattr(fitted.forest_, name), column, err_msg=name)
