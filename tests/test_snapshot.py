"""Who predicts while an estimator is fitted again has the old model or the new one, never something of both."""

import copy
import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from boostforest import (
    BoostForestRegressor,
    BoostTreeClassifier,
    BoostTreeRegressor,
    ETForestClassifier,
    PoolForestClassifier,
    PoolForestRegressor,
)
from boostforest.model_trees import LMTClassifier, M5PRegressor, SimpleLogisticClassifier
from models import paper_classifier, paper_regressor
from twin import example_data

ESTIMATORS = [
    BoostTreeRegressor(random_state=0),
    BoostTreeClassifier(random_state=0),
    paper_regressor(3, oob_score=True),
    paper_regressor(40, n_stages=2),
    paper_classifier(3, oob_score=True),
    paper_classifier(25, calibrate="temperature"),
    PoolForestRegressor(LinearRegression(), 3, random_state=0),
    PoolForestClassifier(GaussianNB(), 3, random_state=0),
    ETForestClassifier(3, random_state=0),
    M5PRegressor(),
    LMTClassifier(n_iter=5, random_state=0),
    SimpleLogisticClassifier(n_iter=5, random_state=0),
]
READ = ("predict", "predict_proba", "decision_function", "predict_interval", "predict_set", "apply", "staged_predict")
FIGURES = ("feature_importances_", "slope_importances_", "model_size_", "tree_params_")
pytestmark = pytest.mark.filterwarnings("ignore:.* rows were drawn by every (tree|member):UserWarning")


def tables(estimator, n_features=4):
    """Return two training tables that share nothing: other rows, scales and classes, maybe another width."""
    first, second = example_data("regression", n=80), example_data("regression", n=70, seed=1)
    X, y = second[0][:, :n_features] * 100 - 7, second[1] * 1000 + 5e4
    if not is_classifier(estimator):
        return first, (X, y)
    more = 1 if estimator.__sklearn_tags__().classifier_tags.multi_class else 0
    return (first[0], first[1] > 0), (X, np.array(["a", "b", "c"])[(y > 5e4).astype(int) + more * (y > 5.1e4)])


def outcomes(estimator, X):
    """Return, by name, what everything public has to say about rows; errors as their messages."""
    found = {}
    for name in READ + FIGURES:
        if hasattr(type(estimator), name):
            found[name] = outcome(estimator, name, X)
    return found


def outcome(estimator, name, X):
    """Return one result as something that can be compared."""
    try:
        value = getattr(estimator, name)
        value = value(X) if callable(value) else value
        value = list(value) if name.startswith("staged") else value
    except (ValueError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    return repr([v.tolist() for v in value] if isinstance(value, list) and name.startswith("staged") else value)


def disturbed(estimator):
    """Return a copy whose fitted attributes, at the ``n``-th reading from now, are those of another fit."""

    class Disturbed(type(estimator)):
        countdown = None
        disturb = None

        def __getattribute__(self, name):
            kind = type(self)
            is_fitted = name.endswith("_") != name.startswith("_")  # fitted_ or _private, not a parameter
            if kind.countdown is not None and is_fitted and not callable(getattr(kind, name, None)):
                kind.countdown -= 1
                if kind.countdown < 0:
                    kind.countdown = None
                    kind.disturb()
            return super().__getattribute__(name)

    Disturbed.__name__ = type(estimator).__name__
    return Disturbed(**estimator.get_params(deep=False))


@pytest.mark.parametrize("n_features", [4, 3], ids=["same width", "other width"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore:Intervals are infinite:UserWarning")
def test_a_result_is_that_of_one_model_whenever_another_fit_ends(estimator, n_features):
    first, second = tables(estimator, n_features)
    X = first[0][:5]
    old, new = (outcomes(clone(estimator).fit(*table), X) for table in (first, second))
    states = [vars(disturbed(estimator).fit(*table)) for table in (first, second)]
    for name in old:
        fired, n = True, 0
        while fired:
            model = disturbed(estimator)
            model.__dict__ = states[0]
            kind = type(model)
            kind.disturb = lambda model=model: setattr(model, "__dict__", states[1])
            kind.countdown = n
            found = outcome(model, name, X)
            fired, n = kind.countdown is None, n + 1
            kind.countdown = None
            assert found in (old[name], new[name]), f"{name}, disturbed at reading {n}"
        assert n > 1


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_fit_shows_nothing_of_itself_before_its_end(estimator):
    first, second = tables(estimator, 3)
    seen = []

    class Watched(type(estimator)):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if watching:
                seen.append((name, vars(model) is before))

    watching = False
    model = Watched(**estimator.get_params(deep=False)).fit(*first)
    before, kept = vars(model), vars(model).copy()
    watching = True
    assert model.fit(*second) is model
    watching = False
    if hasattr(model, "_model"):
        assert [name for name, _ in seen] == ["_model"]
    else:
        assert {name for name, _ in seen} >= {"n_features_in_"}
        assert all(untouched for name, untouched in seen if name != "__dict__")
        assert before == kept and vars(model) is not before  # the old state is whole for whoever holds it
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("estimator", ESTIMATORS[:9], ids=lambda e: type(e).__name__)
def test_threads_that_predict_during_fits_see_whole_models(estimator):
    fits = tables(estimator, 3)
    rows = [X[:20] for X, _ in fits]
    allowed = [{outcome(clone(estimator).fit(*fit), "predict", X) for fit in fits} for X in rows]
    model = clone(estimator).fit(*fits[0])
    done = threading.Event()

    def refit():
        try:
            for i in range(30):
                model.fit(*fits[(i + 1) % 2])
        finally:
            done.set()

    thread = threading.Thread(target=refit)
    thread.start()
    wrong = []
    while not done.is_set():
        for X, expected in zip(rows, allowed, strict=True):
            found = outcome(model, "predict", X)
            if found not in expected:
                wrong.append(found)
    thread.join()
    assert not wrong
    assert all(any("is expecting" in text for text in expected) for expected in allowed)


def test_an_error_leaves_the_estimator_as_it_was():
    X, y = example_data("regression")
    model = paper_regressor(3).fit(X, y)
    before, state = vars(model), vars(model).copy()
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 1, np.inf, X), y)
    assert vars(model) is before and before == state


def test_parameters_that_are_set_during_a_fit_stay_set():
    X, y = example_data("regression")

    class Impatient(BoostForestRegressor):
        def _grow(self, *args):
            grown = super()._grow(*args)
            model.set_params(n_estimators=7, n_jobs=2)
            return grown

    model = Impatient(3, random_state=0)
    assert model.fit(X, y) is model
    assert model.get_params()["n_estimators"] == 7 and model.n_jobs == 2 and model.forest_.n_trees == 3
    model.set_params(warm_start=True).fit(X, y)
    assert model.forest_.n_trees == 7


def test_a_class_of_ones_own_may_keep_things_in_the_estimator():
    X, y = example_data("regression")

    class Counting(BoostTreeRegressor):
        def fit(self, X, y, sample_weight=None):
            self.n_fits_ = getattr(self, "n_fits_", 0) + 1
            return super().fit(X, y, sample_weight)

        def _read(self, X):
            self.n_predictions_ = getattr(self, "n_predictions_", 0) + 1
            return super()._read(X)

    model = Counting(random_state=0).fit(X, y).fit(X, y)
    for _ in range(3):
        model.predict(X)
    assert (model.n_fits_, model.n_predictions_) == (2, 3)
    for other in (pickle.loads(pickle.dumps(BoostTreeRegressor().fit(X, y))), copy.deepcopy(model), copy.copy(model)):
        other.fit(X * 2, y)
    assert_array_equal(model.predict(X), Counting(random_state=0).fit(X, y).predict(X))
