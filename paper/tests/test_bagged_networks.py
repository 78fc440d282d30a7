"""Bagged networks; all tests on a CPU."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, make_classification, make_friedman1
from sklearn.linear_model import LogisticRegression

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from boostforest.nodes.torch import CNN, MLP  # noqa: E402
from boostforest_paper.baselines import BaggedNetworksClassifier, BaggedNetworksRegressor  # noqa: E402

TINY = {"device": "cpu", "batch_size": 32, "random_state": 0}


def test_a_bag_of_small_networks_learns_iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["a", "b", "c"])[y]
    bag = BaggedNetworksClassifier(MLP(hidden=8), 3, epochs=30, **TINY).fit(X, labels)
    assert bag.score(X, labels) > 0.94
    assert_allclose(bag.predict_proba(X).sum(axis=1), 1)


def test_convolutions_learn_digits():
    X, y = load_digits(return_X_y=True)
    network = CNN((8, 8), channels=(8,), kernel_size=3)
    bag = BaggedNetworksClassifier(network, 2, epochs=5, scale=False, **TINY).fit(X[:800] / 16, y[:800])
    assert bag.score(X[800:] / 16, y[800:]) > 0.8


def test_a_linear_network_is_logistic_regression():
    X, y = make_classification(200, 4, flip_y=0.3, random_state=0)
    weight = np.where(np.arange(200) % 10 == 0, 0.0, 1.0 + y)
    arguments = {**TINY, "batch_size": 200, "bootstrap": False, "weight_decay": 0.0}
    bag = BaggedNetworksClassifier(torch.nn.Linear, 1, epochs=500, **arguments).fit(X, y, sample_weight=weight)
    expected = LogisticRegression(C=1e6).fit(X, y, sample_weight=weight)
    assert_allclose(bag.predict_proba(X), expected.predict_proba(X), atol=0.01)


def test_a_bag_for_regression_is_better_than_the_mean_and_in_the_targets_units():
    X, y = make_friedman1(200, random_state=0)
    bag = BaggedNetworksRegressor(MLP(hidden=(16,)), 3, epochs=40, **TINY).fit(X, 1000 * y)
    assert bag.score(X, 1000 * y) > 0.8


def test_the_last_stage_is_the_whole_bag():
    X, y = load_iris(return_X_y=True)
    bag = BaggedNetworksClassifier(MLP(hidden=4), 3, epochs=2, **TINY).fit(X, y)
    *_, last = bag.staged_predict_proba(X)
    assert_allclose(last, bag.predict_proba(X))
    *_, labels = bag.staged_predict(X)
    assert_array_equal(labels, bag.predict(X))


def test_the_same_seed_gives_the_same_networks_for_any_number_of_processes():
    X, y = load_iris(return_X_y=True)
    one, two = (
        BaggedNetworksClassifier(MLP(hidden=4), 3, epochs=2, n_jobs=n_jobs, **TINY).fit(X, y) for n_jobs in (1, 2)
    )
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(pickle.loads(pickle.dumps(one)).predict_proba(X), one.predict_proba(X))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"module": 3}, r"module must be MLP\(…\).*got 3"),
        ({"epochs": 0}, "epochs must be an integer of at least 1; got 0"),
        ({"lr": 0}, "lr must be a finite number above 0; got 0"),
        ({"device": "gpu"}, "device must be one of 'auto', 'cpu', 'cuda'; got 'gpu'"),
        ({"networks_at_once": 0}, "networks_at_once must be an integer of at least 1; got 0"),
        ({"bootstrap": False, "max_samples": 0.5}, "max_samples needs bootstrap=True"),
        ({"module": torch.nn.Linear(4, 2)}, r"must return rows × 3, but gave the shape \(2, 2\)"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        BaggedNetworksClassifier(**{"module": MLP(4), "n_estimators": 1, "epochs": 1, **arguments}).fit(X, y)
