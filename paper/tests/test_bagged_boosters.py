"""Bagged XGBoost and LightGBM: the paper's settings over the pool forest."""

import importlib
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_iris

from boostforest_paper import baselines

PACKAGES = {"XGBoost": "xgboost", "LightGBM": "lightgbm"}


@pytest.fixture(params=PACKAGES)
def package(request):
    pytest.importorskip(PACKAGES[request.param], reason=f"{request.param} is not installed")
    return request.param


def test_defaults_are_the_papers(package):
    for task in ("Classifier", "Regressor"):
        forest = getattr(baselines, f"Bagged{package}{task}")()
        assert (forest.n_estimators, forest.n_rounds, forest.bootstrap) == (500, 1000, True)
        member = forest._declared()[0]
        assert member.get_params()["n_estimators"] == 1000 and member.get_params()["n_jobs"] == 1


def test_members_are_boosters_on_their_rows(package):
    X, y = load_diabetes(return_X_y=True)
    forest = getattr(baselines, f"Bagged{package}Regressor")(3, n_rounds=10, random_state=0).fit(X, y)
    for member, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        again = type(member)(**member.get_params()).fit(X[rows], y[rows])
        assert_allclose(member.predict(X), again.predict(X), rtol=1e-5)
    assert_allclose(forest.predict(X), np.mean([m.predict(X) for m in forest.estimators_], axis=0), rtol=1e-5)


def test_other_parameters_are_drawn_from_pools(package):
    X, y = load_iris(return_X_y=True)
    pools = {"learning_rate": [0.05, 0.3], "max_depth": 2}
    forest = getattr(baselines, f"Bagged{package}Classifier")(6, n_rounds=5, pools=pools, random_state=0).fit(X, y)
    assert {member.get_params()["learning_rate"] for member in forest.estimators_} == {0.05, 0.3}
    assert forest.score(X, y) > 0.9


def test_replicas_may_lack_classes(package):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat(["a", "b", "rare", "z"], [20, 19, 1, 20])
    X[:, 0] += np.select([y == "a", y == "b", y == "z"], [0, 4, 8], -6)
    forest = getattr(baselines, f"Bagged{package}Classifier")(
        12, n_rounds=20, pools={"min_child_weight": 0}, oob_score=True, random_state=0
    ).fit(X, y)
    n_seen = [len(np.unique(y[rows])) for rows in forest.estimators_samples_]
    assert set(n_seen) == {3, 4}  # some replicas have the rare class, some lack it
    for member, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        codes = np.searchsorted(forest.classes_, np.unique(y[rows]))
        assert_allclose(member.classes_, codes)
        assert set(member.predict(X)) <= set(codes)
        assert member.predict_proba(X).shape == (60, len(codes))
    p = forest.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
    assert np.mean(forest.classes_[p.argmax(axis=1)] == y) > 0.95
    again = pickle.loads(pickle.dumps(forest))
    assert_allclose(again.predict_proba(X), p)


def test_an_objective_for_many_classes_bears_replicas_of_two():
    pytest.importorskip("xgboost", reason="XGBoost is not installed")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1, 2], [20, 19, 1])
    pools = {"objective": "multi:softprob"}
    forest = baselines.BaggedXGBoostClassifier(6, n_rounds=2, pools=pools, random_state=0).fit(X, y)
    assert {len(member.classes_) for member in forest.estimators_} == {2, 3}
    assert_allclose(forest.predict_proba(X).sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("package", PACKAGES)  # installed or not
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pools": {"n_estimators": [5]}}, "use n_rounds"),
        ({"n_rounds": 0}, "n_rounds must be an integer of at least 1; got 0"),
    ],
)
def test_bad_arguments_are_named(package, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(baselines, f"Bagged{package}Regressor")(**arguments).fit([[0.0], [1.0]], [0.0, 1.0])


def test_one_class_has_probability_one(package):
    forest = getattr(baselines, f"Bagged{package}Classifier")(2, n_rounds=2, random_state=0)
    with pytest.warns(UserWarning, match="y has one class only"):
        forest.fit(np.eye(20), np.zeros(20))
    assert_allclose(forest.predict_proba(np.eye(20)), np.ones((20, 1)))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_missing_package_is_named_with_its_extra(package, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match=rf'needs {PACKAGES[package]}: pip install "boostforest-paper\[boosters\]"'):
        getattr(baselines, f"Bagged{package}Regressor")().fit([[0.0], [1.0]], [0.0, 1.0])


def test_a_cell_that_is_no_number_is_refused_also_where_no_member_draws_it(package):
    X, y = load_diabetes(return_X_y=True)
    X = X[:30].astype(object)
    X[0, 0] = {"a": 1}
    for seed in range(4):  # a member leaves a row out in one of three draws
        with pytest.raises(TypeError, match="number"):
            getattr(baselines, f"Bagged{package}Regressor")(1, n_rounds=2, random_state=seed).fit(X, y[:30])
