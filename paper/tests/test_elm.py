"""Extreme learning machines by themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.linear_model import Ridge, RidgeClassifier

from boostforest_paper.baselines import ELMClassifier, ELMRegressor


def units(model, X):
    return expit(X @ model.hidden_weights_ + model.hidden_bias_)


def test_the_outputs_are_a_ridge_regression_on_the_units():
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    model = ELMRegressor(10, reg_lambda=0.5, random_state=0).fit(X, y, sample_weight=weight)
    ridge = Ridge(alpha=0.5).fit(units(model, X), y, sample_weight=weight)
    assert_allclose(model.predict(X), ridge.predict(units(model, X)), rtol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_regressed_as_scikit_learns_ridge_classifier_does(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = ELMClassifier(8, reg_lambda=0.5, random_state=0).fit(X, y)
    ridge = RidgeClassifier(alpha=0.5).fit(units(model, X), y)
    assert_allclose(model.decision_function(X), ridge.decision_function(units(model, X)), atol=1e-8)
    assert (model.predict(X) == ridge.predict(units(model, X))).all()


def test_units_bend_within_the_data_whatever_its_units():
    X, y = make_moons(300, noise=0.1, random_state=0)
    X = X * [1e-6, 1e6] + [3, -1e7]
    model = ELMClassifier(40, reg_lambda=1e-3, random_state=0).fit(X, y)
    projected = X @ model.hidden_weights_ + model.hidden_bias_
    assert_allclose(projected.std(axis=0), 1, rtol=1e-6)
    assert (np.abs(projected.mean(axis=0)) < 2.001).all()
    assert model.score(X, y) > 0.95


def test_features_that_do_not_vary_say_nothing():
    y = load_diabetes().target
    model = ELMRegressor(5, random_state=0).fit(np.full((len(y), 2), 7.5), y)
    assert_allclose(model.predict(np.ones((1, 2))), y.mean())


@pytest.mark.parametrize(("name", "value"), [("n_hidden", 0), ("reg_lambda", 0.0), ("random_state", -1)])
def test_bad_arguments_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        ELMRegressor(**{name: value}).fit([[0.0], [1.0]], [0.0, 1.0])
