"""scikit-learn's regressors, and whatever looks like one, at the nodes."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import BaggingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from boostforest.nodes._regressor import rows_for_weights, weight_arguments, with_seeds
from models import assert_same_trees, paper_classifier, paper_regressor

NUMBERS = make_regression(120, 4, noise=10.0, random_state=0)
CLASSES = make_classification(150, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
STUMPS = DecisionTreeRegressor(max_depth=2)


class Recorder(RegressorMixin, BaseEstimator):
    """A constant that notes what it was given, and may misbehave."""

    calls: list = []  # noqa: RUF012 - shared on purpose: nodes are fitted by clones

    def __init__(self, random_state=None, answer=None):
        self.random_state = random_state
        self.answer = answer

    def fit(self, X, y):
        self.calls.append((X, y, self.random_state))
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_) if self.answer is None else self.answer(X)


@pytest.fixture(autouse=True)
def _forget_calls():
    Recorder.calls.clear()


class Duck:
    """No estimator of scikit-learn, but it can fit and predict."""

    def fit(self, X, y, sample_weight=None):
        self.mean = np.average(y, weights=sample_weight)

    def predict(self, X):
        return np.full((len(X), 1), self.mean)


# ------------------------------------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("model", [STUMPS, KernelRidge(kernel="rbf"), KNeighborsRegressor(3)], ids=repr)
def test_forests_of_regressors_learn(model):
    settings = {"node_model": model, "min_samples_leaf": 20, "oob_score": True, "random_state": 0}
    regressor, classifier = (
        BoostForestRegressor(6, **settings, preset="paper"),
        BoostForestClassifier(6, **settings, preset="paper"),
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]+ rows were drawn by every tree")
        assert regressor.fit(*NUMBERS).oob_score_ > 0.4
        assert classifier.fit(*CLASSES).oob_score_ > 0.6


def test_an_object_with_fit_and_predict_is_enough():
    X, y = CLASSES
    duck, constant = (paper_classifier(3, node_model=m).fit(X, y) for m in (Duck(), "constant"))
    np.testing.assert_allclose(duck.predict_proba(X), constant.predict_proba(X), rtol=1e-8)


def test_the_users_object_stays_unfitted_and_can_be_changed_later():
    X, y = NUMBERS
    model = Ridge(alpha=0.1)
    tree = BoostTreeRegressor(node_model=model, random_state=0).fit(X, y)
    before = tree.predict(X)
    model.set_params(alpha=1e6, fit_intercept=False)
    assert not hasattr(model, "coef_")
    np.testing.assert_array_equal(tree.predict(X), before)
    assert tree.tree_params_[0]["node_model"].alpha == 0.1


def test_parameters_of_the_node_model_can_be_searched():
    search = GridSearchCV(
        BoostTreeRegressor(node_model=Ridge(), random_state=0), {"node_model__alpha": [0.1, 1e6]}, cv=2
    )
    assert search.fit(*NUMBERS).best_params_ == {"node_model__alpha": 0.1}


# ------------------------------------------------------------------------------------------- weights and random numbers


def test_who_takes_weights_gets_them():
    assert weight_arguments(Ridge()) == ["sample_weight"]
    assert weight_arguments(KNeighborsRegressor()) == []
    assert weight_arguments(make_pipeline(StandardScaler(), PolynomialFeatures(), Ridge())) == [
        "ridge__sample_weight",
        "standardscaler__sample_weight",
    ]
    nested = make_pipeline(PolynomialFeatures(), make_pipeline(StandardScaler(), Ridge()))
    assert weight_arguments(nested) == [
        "pipeline__ridge__sample_weight",
        "pipeline__standardscaler__sample_weight",
    ]
    assert weight_arguments(make_pipeline(StandardScaler(), KNeighborsRegressor())) == []
    assert weight_arguments(make_pipeline("passthrough", Ridge())) == ["ridge__sample_weight"]


def test_a_pipeline_with_weights_is_fitted_like_its_parts():
    X, y = CLASSES
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), Ridge(alpha=0.1))
    whole, part = (BoostTreeClassifier(node_model=m, random_state=0).fit(X, y) for m in (pipeline, pipeline[-1]))
    np.testing.assert_allclose(whole.predict_proba(X), part.predict_proba(X), rtol=1e-8)


def test_rows_are_repeated_for_whole_weights_and_drawn_for_others():
    np.testing.assert_array_equal(rows_for_weights(np.array([2.0, 0.0, 1.0]), 3, key=1), [0, 0, 2])
    weight = np.array([0.1, 0.0, 0.6, 0.3])
    counts = np.bincount(rows_for_weights(weight, 20_000, key=1), minlength=4)
    np.testing.assert_allclose(counts / 20_000, weight, atol=0.02)
    assert len(rows_for_weights(np.full(5, 1e9), 5, key=1)) == 5  # not five billion


def test_who_takes_no_weights_sees_repeated_rows_in_regression():
    X, y = NUMBERS
    paper_regressor(1, node_model=Recorder(), max_depth=1).fit(X, y)
    assert sum(len(y) for _, y, _ in Recorder.calls) == len(y)  # the replica, drawn rows as often as they were drawn


def test_random_states_follow_from_the_seed_and_differ_between_nodes():
    X, y = NUMBERS
    seeds = []
    for seed in (0, 0, 1):
        Recorder.calls.clear()
        BoostTreeRegressor(node_model=Recorder(), random_state=seed).fit(X, y)
        seeds.append([state for _, _, state in Recorder.calls])
    assert seeds[0] == seeds[1] != seeds[2]
    assert len(set(seeds[0])) == len(seeds[0]) > 2


def test_nested_random_states_are_set():
    model = with_seeds(BaggingRegressor(DecisionTreeRegressor(random_state=7), random_state=None), key=5)
    assert isinstance(model.random_state, int) and model.estimator.random_state not in (7, model.random_state)


# ------------------------------------------------------------- the same for any number of processes, and after pickling


def test_the_forest_does_not_depend_on_the_number_of_processes():
    X, y = CLASSES
    X = np.tile(X, (1, 200))  # large enough to reach other processes as a memory map
    forest = paper_classifier(
        4, node_model=DecisionTreeRegressor(max_depth=2, max_features=3), max_features=20, max_depth=2
    )
    one, two = (clone(forest).set_params(n_jobs=n).fit(X, y) for n in (1, 2))
    assert_same_trees(two, one)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_warm_starts_continue():
    X, y = CLASSES
    whole = paper_classifier(3, node_model=STUMPS).fit(X, y)
    grown = paper_classifier(2, node_model=STUMPS, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(whole.predict_proba(X), grown.predict_proba(X))


def test_a_warm_start_may_change_the_node_model():
    X, y = NUMBERS
    forest = paper_regressor(2, warm_start=True).fit(X, y)
    ridges = forest.predict(X) * 2
    forest.set_params(n_estimators=4, node_model=STUMPS).fit(X, y)
    np.testing.assert_array_equal(forest.forest_.in_python, [False, False, True, True])
    stumps = forest.get_tree(2).predict(X) + forest.get_tree(3).predict(X)
    np.testing.assert_allclose(forest.predict(X), (ridges + stumps) / 4)


def test_everything_a_forest_offers_works():
    X, y = CLASSES
    forest = paper_classifier(4, node_model=STUMPS).fit(X, y)
    p = forest.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(forest)).predict_proba(X), p)
    np.testing.assert_array_equal(list(forest.staged_predict_proba(X))[-1], p)
    np.testing.assert_allclose(np.mean([forest.get_tree(i).predict_proba(X) for i in range(4)], axis=0), p)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    indicator, _ = forest.decision_path(X)
    assert indicator[np.arange(len(X))[:, None], forest.apply(X) + forest.forest_.tree_start[:-1]].min() == 1
    assert forest.model_size_ > 1000
    frame = forest.to_dataframe()
    assert frame["model"].str.startswith("[DecisionTreeRegressor(").sum() == len(frame) - 4  # roots have none
    assert not any(name.startswith("slope") for name in frame)
    with pytest.raises(AttributeError, match="slope_importances_ needs linear models"):
        forest.slope_importances_  # noqa: B018
    assert clone(forest).node_model.max_depth == 2


# ----------------------------------------------------------------------------------------------------- what cannot work


@pytest.mark.parametrize("model", [LogisticRegression(), Ridge, object(), StandardScaler()], ids=range(4))
def test_what_is_no_regressor_is_refused(model):
    with pytest.raises(ValueError, match=r"node_model must be .*a regressor with fit and predict.*; got"):
        BoostTreeRegressor(node_model=model).fit(*NUMBERS)


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        (lambda X: np.full(len(X), np.nan), r"node_model=Recorder\(.*predicted NaN or infinity at node L of tree 0"),
        (lambda X: np.zeros(len(X) + 1), r"node_model=Recorder\(.*must predict one number per row, \d+ in all"),
        (lambda X: np.zeros((len(X), 2)), "must predict one number per row"),
        (lambda X: ["no"] * len(X), "must predict one number per row"),
        (lambda X: None, "must predict one number per row"),
    ],
)
def test_bad_predictions_name_the_model_and_the_node(answer, match):
    tree = BoostTreeRegressor(node_model=Recorder(answer=answer), random_state=0)
    with pytest.raises(ValueError, match=match):
        tree.fit(*NUMBERS)
    assert not hasattr(tree, "forest_")


def test_an_error_of_the_model_itself_names_the_node():
    tree = BoostTreeRegressor(node_model=LinearRegression(n_jobs="many"), random_state=0)
    with pytest.raises(ValueError, match="n_jobs") as caught:
        tree.fit(*NUMBERS)
    assert caught.value.__notes__ == ["This was node_model=LinearRegression(n_jobs='many') at node L of tree 0."]


def test_model_files_hold_no_regressors(tmp_path):
    tree = BoostTreeClassifier(node_model=Ridge()).fit(*CLASSES)
    with pytest.raises(ValueError, match=r"has Ridge objects at its nodes.*use pickle or.*skops"):
        tree.save_model(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_without_torch_everything_is_there_but_a_fit_names_the_extra():
    code = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NoTorch())
from boostforest import BoostTreeRegressor
from boostforest.nodes.torch import MLP, TorchNode
BoostTreeRegressor(node_model=TorchNode(MLP((4,)))).fit([[0.0], [1.0]], [0.0, 1.0])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stderr.splitlines()[-1] == 'ImportError: TorchNode needs PyTorch: pip install "boostforest[torch]".'
