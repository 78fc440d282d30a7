"""The estimators of every task, and what tests compare of them."""

from functools import partial

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor, _core

TREES = {"regression": BoostTreeRegressor, "binary": BoostTreeClassifier, "multiclass": BoostTreeClassifier}
#: The paper's forests, with a seed.
paper_regressor = partial(BoostForestRegressor, preset="paper", random_state=0)
paper_classifier = partial(BoostForestClassifier, preset="paper", random_state=0)
#: And without one.
FORESTS = {
    "regression": partial(BoostForestRegressor, preset="paper"),
    "binary": partial(BoostForestClassifier, preset="paper"),
    "multiclass": partial(BoostForestClassifier, preset="paper"),
}


def on_every_instruction_set(compute):
    """Return what a function gives on each instruction set that the processor has."""
    before, found = _core.kernels(), []
    try:
        for name in ("generic", "avx2", "avx512"):
            if _core.select_kernels(name):
                found.append(compute())
    finally:
        assert _core.select_kernels(before)
    return found


def forest_for(n_classes, *arguments, **settings):
    """Return a forest for so many classes, 0 for regression."""
    return (BoostForestClassifier if n_classes else BoostForestRegressor)(*arguments, **settings)


def target_for(n_classes, y, labels):
    """Return the target of such a forest, given numbers and labels."""
    return np.minimum(labels, n_classes - 1) if n_classes else y


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


def assert_refused(make, X, y, match, params=None, error=ValueError, /, **data):
    """Assert that a fit fails with such a message, and changes neither a fresh estimator nor a fitted one."""
    params = params or {}
    fresh, fitted = make(), make().fit(X, y)
    good = {name: fresh.get_params(deep=False)[name] for name in params}
    expected = fitted.predict(X)
    for estimator in (fresh, fitted):
        state = vars(estimator.set_params(**params)).copy()
        with pytest.raises(error, match=match):
            estimator.fit(**{"X": X, "y": y, **data})
        assert vars(estimator) == state
        estimator.set_params(**good)
    assert not any(hasattr(fresh, name) for name in ("n_features_in_", "forest_", "estimators_"))
    np.testing.assert_array_equal(fitted.predict(X), expected)


def all_checks(estimators, expected_failed_checks):
    """Return scikit-learn's mark, its argument values as a list: 1.6 gives a generator, of which pytest 9 warns."""
    mark = parametrize_with_checks(estimators, expected_failed_checks=expected_failed_checks)
    return pytest.mark.parametrize(mark.args[0], list(mark.args[1]), **mark.kwargs)
