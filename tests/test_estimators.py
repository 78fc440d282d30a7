"""What a user expects of the methods and parameters of the estimators (test_inspection.py: of what is inside)."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import expit, logit, softmax
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boostforest import BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from models import FORESTS, TREES, contents, output
from twin import example_data

CLASSIFICATION = ["binary", "multiclass"]


def make_forest(task, n_estimators=8, **params):
    """Return a forest of a few trees."""
    return FORESTS[task](n_estimators, **{"random_state": 0, **params})


# ---------------------------------------------------------------------------------------------------------- predictions


@pytest.mark.parametrize("kind", [TREES, FORESTS], ids=["tree", "forest"])
@pytest.mark.parametrize("task", CLASSIFICATION)
def test_all_predictions_of_a_classifier_agree(task, kind):
    X, y = example_data(task)
    fitted = kind[task](random_state=0).fit(X, y)
    p, score = fitted.predict_proba(X), fitted.decision_function(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_array_equal(fitted.predict(X), fitted.classes_[p.argmax(axis=1)])
    assert_allclose(np.exp(fitted.predict_log_proba(X)), p)
    assert_allclose(expit(score) if task == "binary" else softmax(score, axis=1), p[:, 1] if task == "binary" else p)
    if kind is FORESTS:
        assert_allclose(score, logit(p[:, 1]) if task == "binary" else np.log(p), atol=1e-12)
    assert fitted.score(X, y) == accuracy_score(y, fitted.predict(X)) > 0.6


@pytest.mark.parametrize("make", [BoostTreeRegressor, BoostForestRegressor])
def test_the_score_of_a_regressor_is_r2(make):
    X, y = example_data("regression")
    fitted = make(random_state=0).fit(X, y)
    assert fitted.score(X, y) == r2_score(y, fitted.predict(X)) > 0.4


@pytest.mark.parametrize("names", [["b", "a", "c"], [7, -3, 12], [2.0, 1.0, 0.0], [False, True], ["no", "yes"]])
def test_classes_may_have_any_names(names):
    X, codes = example_data("multiclass" if len(names) == 3 else "binary")
    y = np.array(sorted(names))[codes]
    forest = make_forest("binary").fit(X, y)
    assert_array_equal(forest.classes_, sorted(names))
    assert forest.predict(X).dtype == y.dtype and forest.n_classes_ == len(names)
    assert contents(forest) == contents(make_forest("binary").fit(X, codes))


@pytest.mark.parametrize("task", FORESTS)
def test_stages_are_means_over_the_first_trees_and_end_at_the_prediction(task):
    X, y = example_data(task)
    forest = make_forest(task).fit(X, y)
    stages = list(forest.staged_predict(X) if task == "regression" else forest.staged_predict_proba(X))
    trees = [output(forest.get_tree(i), X) for i in range(forest.forest_.n_trees)]
    assert len(stages) == forest.forest_.n_trees == 8
    for k, stage in enumerate(stages, start=1):
        assert_allclose(stage, np.mean(trees[:k], axis=0), rtol=1e-10, atol=1e-12)
    assert_allclose(stages[-1], output(forest, X))
    *_, last = forest.staged_predict(X)
    assert_allclose(last, forest.predict(X))


@pytest.mark.parametrize("task", FORESTS)
def test_get_tree_gives_fitted_trees_with_their_own_parameters(task):
    X, y = example_data(task)
    forest = make_forest(task, node_model=["ridge", "constant"], max_features=[1, "sqrt", None]).fit(X, y)
    for i in range(-8, 8):
        tree = forest.get_tree(i)
        assert isinstance(tree, TREES[task]) and tree.n_features_in_ == 4
        assert {**tree.get_params(), **tree.tree_params_[0]} == {**tree.get_params(), **forest.tree_params_[i]}
        assert_array_equal(tree.apply(X), forest.apply(X)[:, i])
        assert_array_equal(output(clone(tree).fit(X, y), X).shape, output(tree, X).shape)
    assert contents(forest.get_tree(-1)) == contents(forest.get_tree(7))


# ----------------------------------------------------------------------------------------------------------- parameters


def test_tree_parameters_are_drawn_evenly_and_independently():
    X, y = example_data("regression", n=40)
    pools = {
        "node_model": ["constant", "ridge"],
        "min_samples_leaf": stats.randint(5, 16),
        "reg_lambda": stats.loguniform(1e-4, 1.0),
        "max_features": ("sqrt", 1, 3, None),
        "max_leaf_nodes": range(2, 7),
    }
    drawn = pd.DataFrame(BoostForestRegressor(3000, **pools, random_state=0, preset="paper").fit(X, y).tree_params_)
    for name, values in {
        "node_model": ["constant", "ridge"],
        "min_samples_leaf": range(5, 16),
        "max_features": [1, 2, 3, 4],
        "max_leaf_nodes": range(2, 7),
    }.items():
        counts = drawn[name].value_counts()
        assert sorted(counts.index) == list(values)
        assert stats.chisquare(counts).pvalue > 0.001
    assert stats.kstest(np.log10(drawn["reg_lambda"]) / 4 + 1, "uniform").pvalue > 0.001
    assert drawn[["min_samples_leaf", "reg_lambda", "max_features", "max_leaf_nodes"]].corr().abs().mean().max() < 0.3
    assert_array_equal(drawn[["criterion", "n_cuts", "batch_size", "clip", "max_depth"]].nunique(), [1, 1, 1, 1, 0])


@pytest.mark.parametrize("task", FORESTS)
def test_trees_obey_their_limits(task):
    X, y = example_data(task, n=300)
    limits = {"max_leaf_nodes": 5, "max_depth": 3, "min_samples_leaf": 12}
    for params in ({}, *({name: value} for name, value in limits.items())):
        forest = make_forest(task, 20, **{"min_samples_leaf": 2, **params}).fit(X, y).forest_
        leaves = np.diff(forest.tree_start) // 2 + 1
        assert (leaves.max() <= 5) == ("max_leaf_nodes" in params)
        assert (forest.depth.max() <= 3) == ("max_depth" in params)
        assert (forest.n_samples.min() >= 12) == ("min_samples_leaf" in params)


def test_scaling_is_the_same_as_scaling_before():
    X, y = example_data("regression")
    X = X * [1.0, 10.0, 0.1, 3.0] + [0.0, 5.0, -2.0, 100.0]
    Z, z = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
    plain = make_forest("regression", scale=False).fit(Z, z)
    assert_allclose(make_forest("regression").fit(X, y).predict(X), y.mean() + y.std() * plain.predict(Z), rtol=1e-7)
    assert plain.target_mean_ == 0 and plain.target_scale_ == 1 and not plain.feature_mean_.any()
    unscaled = make_forest("regression", scale=False).fit(X, y)
    assert np.abs(unscaled.predict(X) - make_forest("regression").fit(X, y).predict(X)).max() > 1e-3


@pytest.mark.parametrize("task", CLASSIFICATION)
def test_class_weights_are_weights_of_rows(task):
    X, y = example_data(task)
    weight = np.array([1.0, 3.0, 2.0])
    by_class = BoostTreeClassifier(class_weight=dict(enumerate(weight[: y.max() + 1])), random_state=0).fit(X, y)
    assert contents(by_class) == contents(BoostTreeClassifier(random_state=0).fit(X, y, weight[y]))
    balanced = BoostTreeClassifier(class_weight="balanced", random_state=0).fit(X, y)
    weight = len(y) / (np.bincount(y) * (y.max() + 1))
    assert_allclose(
        balanced.predict_proba(X), BoostTreeClassifier(random_state=0).fit(X, y, weight[y]).predict_proba(X)
    )


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 1.0, 1: 9.0}])
def test_class_weights_shift_predictions_to_the_rare_class(class_weight):
    X, _ = example_data("binary", n=400)
    y = (X[:, 0] + np.random.default_rng(1).normal(size=400) > 2).astype(int)
    assert 0.05 < y.mean() < 0.15
    plain, shifted = (make_forest("binary", 30, class_weight=c).fit(X, y) for c in (None, class_weight))
    assert shifted.predict_proba(X)[:, 1].mean() > 2 * plain.predict_proba(X)[:, 1].mean()
    assert shifted.predict(X)[y == 1].mean() > plain.predict(X)[y == 1].mean()


def test_verbose_draws_a_bar_on_standard_error_and_nothing_else_does(capfd):
    X, y = example_data("regression", n=50)
    make_forest("regression", 5).fit(X, y)
    assert capfd.readouterr() == ("", "")
    make_forest("regression", 5, verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == "" and err.endswith("\n")
    assert "[" + "#" * 30 + "] 5/5 trees" in err


def test_the_same_seed_gives_the_same_forest_and_no_seed_another():
    X, y = example_data("regression")

    def fit(random_state):
        return contents(make_forest("regression", random_state=random_state).fit(X, y))

    for make in (lambda: 7, lambda: np.int64(7), lambda: np.random.RandomState(7), lambda: np.random.default_rng(7)):
        assert fit(make()) == fit(make())
    assert fit(7) == fit(np.int64(7)) != fit(8)
    assert fit(None) != fit(None)
    for generator in (np.random.RandomState(7), np.random.default_rng(7)):
        assert fit(generator) != fit(generator)  # it has moved on


# ------------------------------------------------------------------------------- tables of every kind, copies and files

FORMATS = {
    "list": lambda a: a.tolist(),
    "float32": lambda a: a.astype(np.float32),
    "integers": lambda a: a.astype(np.int16),
    "Fortran order": np.asfortranarray,
    "every other row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "read-only": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
    "pandas": lambda a: (
        pd.DataFrame(a, columns=list("abcd")) if a.ndim == 2 else pd.Series(a, index=range(5, len(a) + 5))
    ),
    "polars": lambda a: pl.DataFrame(a, schema=list("abcd")) if a.ndim == 2 else pl.Series(a),
}


@pytest.mark.parametrize("convert", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("task", FORESTS)
def test_a_table_gives_the_same_forest_in_any_format(task, convert):
    X, y = example_data(task)
    X, y = np.round(8 * X), np.round(8.0 * y)
    weight = np.arange(len(y)) % 3 + 1.0
    expected = make_forest(task).fit(X, y, weight)
    forest = make_forest(task).fit(convert(X), convert(y), convert(weight))
    assert contents(forest) == contents(expected)
    assert_array_equal(output(forest, convert(X)), output(expected, X))
    has_names = isinstance(convert(X), pd.DataFrame | pl.DataFrame)
    # scikit-learn 1.6 does not see the names of recent polars frames.
    names = getattr(forest, "feature_names_in_", ["a", "b", "c", "d"] if isinstance(convert(X), pl.DataFrame) else [])
    assert_array_equal(names, ["a", "b", "c", "d"] if has_names else [])


def through_file(estimator, path, **options):
    """Return what joblib reads back."""
    joblib.dump(estimator, path / "forest.joblib")
    return joblib.load(path / "forest.joblib", **options)


@pytest.mark.parametrize("kind", [TREES, FORESTS], ids=["tree", "forest"])
@pytest.mark.parametrize("task", FORESTS)
def test_copies_and_files_predict_the_same(task, kind, tmp_path):
    X, y = example_data(task)
    fitted = kind[task](random_state=0).fit(X, y)
    fitted.predict(X)
    copies = [copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))]
    copies += [through_file(fitted, tmp_path), through_file(fitted, tmp_path, mmap_mode="r")]
    for other in copies:
        assert_array_equal(output(other, X), output(fitted, X))
        assert other.tree_params_ == fitted.tree_params_
    assert clone(fitted).get_params() == fitted.get_params() and not hasattr(clone(fitted), "forest_")


@pytest.mark.parametrize("task", list(FORESTS))
def test_rows_are_predicted_alike_however_they_come(task):
    X, y = example_data(task, n=60)
    forest = FORESTS[task](5, random_state=0, preset="paper").fit(X, y)
    expected = forest.predict(X)
    assert_array_equal(np.concatenate([forest.predict(X[i : i + 1]) for i in range(len(X))]), expected)
    for same in (X.tolist(), np.asfortranarray(X), X.astype(object), np.repeat(X, 2, axis=0)[::2]):
        assert_array_equal(forest.predict(same), expected)
    huge = np.full_like(X[:2], 1.7e308)  # the sum of which overflows
    assert_array_equal(forest.predict(huge), forest.predict(huge.tolist()))
    with pytest.raises(ValueError, match="features"):
        forest.predict(X[:, :-1].copy())


def test_forests_work_in_pipelines_and_cross_validation():
    X, y = example_data("regression", n=300)
    assert cross_val_score(make_pipeline(StandardScaler(), make_forest("regression", 20)), X, y, cv=3).mean() > 0.4
