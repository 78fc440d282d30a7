"""What must hold for any table: found by hypothesis, the same examples in every run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from models import TREES, output
from twin import example_data

# Tables as small as these may well have too few rows or a single class: said as a warning, and meant.
pytestmark = [
    pytest.mark.filterwarnings("ignore:min_samples_leaf=.* needs at least:UserWarning"),
    pytest.mark.filterwarnings("ignore:y has one class only:UserWarning"),
    pytest.mark.filterwarnings("ignore:LinearSVR failed to converge"),  # values from 1e-8 to 1e8, not scaled
]


def examples(n):
    """Return the settings of a test of n examples."""
    return settings(max_examples=n)


# -------------------------------------------------------------------------------------------------- tables and settings

COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "constant": lambda rng, n: np.full(n, rng.choice([0.0, 0.1, -3e8])),
    "ties": lambda rng, n: rng.integers(0, 3, size=n).astype(float),
    "huge": lambda rng, n: 1e8 * rng.normal(size=n),
    "tiny": lambda rng, n: 1e-8 * rng.normal(size=n),
    "far": lambda rng, n: 1e8 + rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_cauchy(size=n),
}
TARGETS = {
    **COLUMNS,
    "smallest": lambda rng, n: 1e-12 * rng.normal(size=n),
    "largest": lambda rng, n: 1e12 * rng.normal(size=n),
}
TREE_SETTINGS = st.fixed_dictionaries(
    {
        "node_model": st.sampled_from(["ridge", "ridge", "constant", "elm", "svr"]),
        "min_samples_leaf": st.integers(1, 8),
        "reg_lambda": st.sampled_from([0.0, 1e-4, 0.1, 1.0]),
        "max_leaf_nodes": st.sampled_from([None, None, 2, 5]),
        "max_depth": st.sampled_from([None, None, 1, 3]),
        "max_features": st.sampled_from([1.0, "sqrt", 1]),
        "n_cuts": st.integers(1, 3),
        "batch_size": st.sampled_from([1000, None, 2, 7]),
        "scale": st.booleans(),
        "random_state": st.integers(0, 2**32 - 1),
    }
)


@st.composite
def tables(draw):
    """Draw a table of awkward columns; half of them have every row several times, many have more columns than rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 40))
    kinds = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=12))
    X = np.column_stack([COLUMNS[kind](rng, n) for kind in kinds])
    repeated = draw(st.booleans())
    return rng, X[rng.integers(0, n, size=3 * n)] if repeated else X


def new_rows(rng, X):
    """Return the table's rows, and rows far outside of it."""
    return np.vstack([X, X * rng.normal(scale=10, size=X.shape)])


def scores_allowed_by_clip(forest, paths):
    """Return the least and the largest score that the clipped models on each row's paths can add up to."""
    has_model = forest.param_start >= 0
    return [paths @ np.where(has_model, bound, 0.0) for bound in (forest.lower, forest.upper)]


# ------------------------------------------------------------------------------------------------------------ any table


@examples(150)
@given(tables(), st.sampled_from(list(TARGETS)), st.sampled_from(["xgb", "mse"]), TREE_SETTINGS, st.booleans())
def test_clipped_regression_stays_within_what_the_clip_allows(table, target, criterion, tree_settings, bootstrap):
    rng, X = table
    y = TARGETS[target](rng, len(X))
    forest = BoostForestRegressor(3, criterion=criterion, bootstrap=bootstrap, **tree_settings, preset="paper").fit(
        X, y
    )
    rows = new_rows(rng, X)
    predictions = forest.predict(rows)
    assert np.isfinite(predictions).all()
    bounds = []
    for tree in map(forest.get_tree, range(3)):
        scores = np.array(scores_allowed_by_clip(tree.forest_, tree.decision_path(rows)))
        rounding = 1e-12 * (abs(tree.target_mean_) + tree.target_scale_ * np.abs(scores).max())
        bounds.append(tree.target_mean_ + tree.target_scale_ * scores + [[-rounding], [rounding]])
        assert (tree.predict(rows) >= bounds[-1][0]).all()
        assert (tree.predict(rows) <= bounds[-1][1]).all()
    assert (predictions >= np.min(bounds, axis=0)[0]).all()
    assert (predictions <= np.max(bounds, axis=0)[1]).all()


@examples(60)
@given(tables(), st.sampled_from(list(TARGETS)), TREE_SETTINGS)
def test_unclipped_regression_is_finite(table, target, tree_settings):
    rng, X = table
    y = TARGETS[target](rng, len(X))
    tree = BoostTreeRegressor(clip=False, **tree_settings).fit(X, y)
    assert np.isfinite(tree.predict(new_rows(rng, X))).all()


@examples(150)
@given(
    tables(), st.integers(1, 5), st.sampled_from(["xgb", "gini", "c45"]), TREE_SETTINGS, st.sampled_from([False, True])
)
def test_probabilities_are_probabilities(table, n_classes, criterion, tree_settings, bootstrap):
    rng, X = table
    y = rng.integers(0, n_classes, size=len(X))
    forest = BoostForestClassifier(3, criterion=criterion, bootstrap=bootstrap, **tree_settings, preset="paper").fit(
        X, y
    )
    rows = new_rows(rng, X)
    for estimator in (forest, forest.get_tree(1)):
        p = estimator.predict_proba(rows)
        assert p.shape == (len(rows), len(np.unique(y)))
        assert p.min() >= 0 and p.max() <= 1
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert np.isfinite(estimator.decision_function(rows)).all()
        assert_array_equal(estimator.predict(rows), estimator.classes_[p.argmax(axis=1)])


@pytest.mark.parametrize("node_model", ["ridge", "constant"])
@pytest.mark.parametrize("clip", [True, False])
def test_a_single_row_is_predicted_everywhere(node_model, clip):
    tree = BoostTreeRegressor(node_model=node_model, clip=clip).fit([[1.0, 2.0]], [5.0])
    assert_allclose(tree.predict([[1.0, 2.0], [-1e9, 1e9]]), 5.0)
    assert_array_equal(BoostTreeClassifier(node_model=node_model).fit([[1.0, 2.0]], ["a"]).predict([[3.0, 4.0]]), ["a"])


@examples(20)
@given(tables(), st.sampled_from([0.0, 0.1, -1e-12, 1e12]), TREE_SETTINGS, st.booleans())
def test_a_constant_target_is_predicted(table, value, tree_settings, clip):
    rng, X = table
    # Without a clip, slopes that are nothing but rounding show far outside of the table, and where features are huge.
    tree_settings = {**tree_settings, "clip": clip, "scale": tree_settings["scale"] or not clip}
    forest = BoostForestRegressor(2, **tree_settings, preset="paper").fit(X, np.full(len(X), value))
    assert_allclose(forest.predict(new_rows(rng, X) if clip else X), value, rtol=1e-9, atol=1e-300)


# ------------------------------------------------------------------------------
# What must not matter. Rounding may decide between two splits that part the rows alike: leaves of ten rows make such
# splits all but impossible, and criteria that count classes make their ties exact.

CASES = st.sampled_from(
    [
        ("regression", {"criterion": "xgb"}),
        ("regression", {"criterion": "mse", "clip": False}),
        ("regression", {"node_model": "constant"}),
        ("binary", {"criterion": "xgb"}),
        ("binary", {"criterion": "c45", "node_model": "constant"}),
        ("multiclass", {"criterion": "gini"}),
    ]
)
SEEDS = st.integers(0, 2**32 - 1)
N_ROWS = 100
SAME = {"rtol": 1e-8, "atol": 1e-8}


def make_tree(task, options):
    """Return a tree without batches: the number of a row must not matter."""
    make = TREES[task]
    return make(min_samples_leaf=10, batch_size=None, random_state=3, **options)


@examples(30)
@given(CASES, SEEDS)
def test_the_order_of_rows_changes_nothing(case, seed):
    X, y = example_data(case[0], n=N_ROWS, seed=seed)
    order = np.random.default_rng(seed).permutation(len(X))
    tree = make_tree(*case).fit(X, y)
    assert tree.n_leaves_[0] > 1
    assert_allclose(output(make_tree(*case).fit(X[order], y[order]), X), output(tree, X), **SAME)


@examples(30)
@given(CASES, SEEDS)
def test_weights_count_rows_and_weight_zero_removes_one(case, seed):
    X, y = example_data(case[0], n=N_ROWS, seed=seed)
    weight = np.random.default_rng(seed).choice([0, 1, 1, 1, 2, 3], size=len(X))
    weighted = make_tree(*case).fit(X, y, sample_weight=weight)
    repeated = make_tree(*case).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_allclose(output(weighted, X), output(repeated, X), **SAME)
    assert_array_equal(weighted.n_nodes_, repeated.n_nodes_)


@examples(30)
@given(CASES, SEEDS, st.lists(st.integers(-200, 200), min_size=4, max_size=4))
def test_powers_of_two_in_the_features_change_no_bit(case, seed, exponents):
    X, y = example_data(case[0], n=N_ROWS, seed=seed)
    factors = np.ldexp(1.0, exponents)
    assert_array_equal(output(make_tree(*case).fit(X * factors, y), X * factors), output(make_tree(*case).fit(X, y), X))


@examples(30)
@given(CASES, SEEDS, st.lists(st.integers(-8, 8), min_size=4, max_size=4))
def test_units_of_the_features_change_nothing(case, seed, exponents):
    X, y = example_data(case[0], n=N_ROWS, seed=seed)
    factors = 10.0 ** np.array(exponents)
    shifted = X * factors + factors
    assert_allclose(output(make_tree(*case).fit(shifted, y), shifted), output(make_tree(*case).fit(X, y), X), **SAME)


@examples(30)
@given(CASES, SEEDS, st.sampled_from([0.0, 0.1, 1e8]))
def test_a_constant_column_at_the_end_changes_nothing(case, seed, value):
    X, y = example_data(case[0], n=N_ROWS, seed=seed)
    wider = np.column_stack([X, np.full(len(X), value)])
    tree = make_tree(*case).fit(wider, y)
    assert_allclose(output(tree, wider), output(make_tree(*case).fit(X, y), X), **SAME)
    assert tree.feature_importances_[-1] == 0


@examples(40)
@given(
    st.sampled_from([{}, {"clip": False}, {"criterion": "mse"}, {"node_model": "constant"}, {"batch_size": 30}]),
    SEEDS,
    st.sampled_from([1e-12, 1e-3, -1.0, 1e3, -1e12]),
    st.sampled_from([0.0, 10.0]),
)
def test_predictions_follow_an_affine_change_of_the_target(options, seed, factor, shift):
    X, y = example_data("regression", n=N_ROWS, seed=seed)
    forest = BoostForestRegressor(3, min_samples_leaf=15, random_state=0, **options, preset="paper")
    expected = forest.fit(X, y).predict(X)
    assert_allclose(forest.fit(X, factor * (y + shift)).predict(X) / factor - shift, expected, rtol=1e-8, atol=1e-8)
