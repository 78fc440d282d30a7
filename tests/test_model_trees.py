"""Model trees, and LMTClassifier and SimpleLogisticClassifier: what a user can rely on."""

import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification

from boostforest import _core
from boostforest.model_trees import LMTClassifier, M5PRegressor, SimpleLogisticClassifier, export_text, plot_tree
from models import assert_refused, output
from weka_lmt import checkerboard, piecewise, steps

X, y = piecewise()

BOTH = [SimpleLogisticClassifier, LMTClassifier]
ALL = [SimpleLogisticClassifier(random_state=3), LMTClassifier(random_state=3), M5PRegressor(prune=False)]


def table(n_classes):
    """Return features and classes."""
    return make_classification(150, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


def test_counts_as_weights_are_the_same_as_repeated_rows():
    X, y = table(3)
    counts = np.random.RandomState(0).randint(0, 4, size=len(y))
    repeated = np.repeat(np.arange(len(y)), counts)
    for estimator in (SimpleLogisticClassifier(use_aic=True), LMTClassifier(prune=False, n_iter=4)):
        weighted = clone(estimator).fit(X, y, counts)
        assert_allclose(weighted.predict_proba(X), estimator.fit(X[repeated], y[repeated]).predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("estimator", BOTH)
def test_the_seed_decides_the_folds_and_nothing_else_is_random(estimator, cancer):
    X, y = cancer
    first, second = (estimator(random_state=1).fit(X, y) for _ in range(2))
    assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    assert len({estimator(random_state=seed).fit(X, y).n_iter_ for seed in range(5)}) > 1
    assert_array_equal(*(estimator(shuffle=False).fit(X, y).predict_proba(X) for _ in range(2)))
    fixed = {"n_iter": 5} | ({"prune": False} if estimator is LMTClassifier else {})
    assert_array_equal(*(estimator(random_state=s, **fixed).fit(X, y).predict_proba(X) for s in range(2)))


def test_fits_on_threads_give_the_same_trees():
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(lambda seed: LMTClassifier(random_state=seed % 2).fit(X, y), range(8)))
    for tree in trees[2:]:
        assert_array_equal(tree.decision_function(X), trees[trees.index(tree) % 2].decision_function(X))


def test_a_tree_beats_one_model_where_the_classes_ask_for_it():
    X, y = checkerboard(600)
    tree, model = (e(random_state=0).fit(X[:300], y[:300]) for e in (LMTClassifier, SimpleLogisticClassifier))
    assert tree.score(X[300:], y[300:]) > model.score(X[300:], y[300:]) + 0.1
    assert tree.feature_importances_[:2].sum() > 0.9
    assert_allclose(tree.feature_importances_.sum(), 1)


def test_simple_logistic_leaves_useless_features_out():
    X, y = make_classification(300, 20, n_informative=3, n_redundant=0, shuffle=False, random_state=0)
    used = np.flatnonzero(SimpleLogisticClassifier(random_state=0).fit(X, y).coef_[0])
    assert 1 <= len(used) <= 8
    assert set(used) & {0, 1, 2}


@pytest.mark.parametrize("estimator", ALL)
def test_missing_values_count_as_the_mean_of_the_training_rows(estimator):
    X, y = steps()
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    model, expected = clone(estimator).fit(X, y), clone(estimator).fit(filled, y)
    assert_allclose(output(model, X), output(expected, filled), atol=1e-9)
    if not isinstance(model, SimpleLogisticClassifier):
        assert_array_equal(model.apply(X), expected.apply(filled))


@settings(max_examples=20, deadline=None)
@given(power=st.integers(-30, 30), shift=st.integers(-1000, 1000))
def test_units_do_not_matter(power, shift):
    unit = 2.0**power
    expected = LMTClassifier(n_iter=3, shuffle=False).fit(X, y).predict_proba(X)
    tree = LMTClassifier(n_iter=3, shuffle=False).fit((X + shift) * unit, y)
    assert_allclose(tree.predict_proba((X + shift) * unit), expected, atol=1e-6)


def test_sizes_of_nodes_are_kept():
    for split, leaf in ((16, 2), (40, 2), (16, 12), (300, 2), (301, 2)):
        tree = LMTClassifier(n_iter=1, prune=False, min_samples_split=split, min_samples_leaf=leaf).fit(X, y).tree_
        inner = tree.feature >= 0
        assert (tree.n_samples[inner] >= split).all()
        assert (tree.n_samples[1:] >= leaf).all()
        assert inner.any() == (split <= 300)


def test_pruning_makes_the_tree_smaller():
    whole, pruned = (LMTClassifier(prune=p, random_state=0).fit(X, y) for p in (False, True))
    assert 1 < pruned.n_leaves_ < whole.n_leaves_


def test_thresholds_are_values_of_the_table():
    tree = LMTClassifier(prune=False).fit(X, y).tree_
    inner = tree.feature >= 0
    assert all(t in X[:, j] for j, t in zip(tree.feature[inner], tree.threshold[inner], strict=True))


@pytest.mark.parametrize("estimator", [LMTClassifier, M5PRegressor])
def test_apply_leads_to_the_leaves(estimator):
    tree = estimator(prune=False).fit(X, y)
    leaves, counts = np.unique(tree.apply(X), return_counts=True)
    assert (tree.tree_.feature[leaves] == -1).all()
    assert len(leaves) == tree.n_leaves_ == (tree.n_nodes_ + 1) // 2
    assert_array_equal(tree.tree_.n_samples[leaves], counts)
    if estimator is LMTClassifier:
        wrong = tree.predict(X) != y
        assert_array_equal(tree.tree_.wrong[leaves], [wrong[tree.apply(X) == leaf].sum() for leaf in leaves])


def test_class_functions_add_up_to_zero_and_coefficients_give_them():
    X, y = load_iris(return_X_y=True)
    model = SimpleLogisticClassifier(random_state=0).fit(X, y)
    F = model.decision_function(X)
    assert_allclose(F.sum(axis=1), 0, atol=1e-9)
    assert_allclose(X @ model.coef_.T + model.intercept_, F, rtol=1e-9)
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


@pytest.mark.parametrize("estimator", BOTH)
def test_one_class_is_always_predicted(estimator):
    with pytest.warns(UserWarning, match="y has one class only"):
        model = estimator().fit(np.arange(10.0)[:, None], ["a"] * 10)
    assert_array_equal(model.predict([[3.0]]), ["a"])
    assert_array_equal(model.predict_proba([[3.0]]), [[1.0]])


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_tiny_tables_and_constant_features_do_no_harm(estimator, n):
    X = np.column_stack([np.arange(n), np.full(n, 7.0), np.full(n, np.nan)])
    model = estimator(random_state=0).fit(X, np.arange(n) % 2)
    assert np.isfinite(model.predict_proba(X)).all()
    assert_array_equal(estimator().fit(X[:, 1:], np.arange(n) % 2).predict_proba(X[:, 1:]), 0.5)


def test_classes_that_a_line_separates_stay_finite():
    x = np.arange(40.0)[:, None]
    model = SimpleLogisticClassifier(n_iter=500).fit(x, x[:, 0] > 19)
    assert model.score(x, x[:, 0] > 19) == 1
    assert np.isfinite(model.decision_function(x * 1e6)).all()


def test_features_of_any_size_can_be_used():
    X, y = table(2)
    expected = LMTClassifier(shuffle=False).fit(X, y).predict_proba(X)
    for unit in (1e-300, 1e300):
        assert_allclose(LMTClassifier(shuffle=False).fit(X * unit, y).predict_proba(X * unit), expected, atol=1e-9)


def test_deep_trees_are_no_problem():
    x = np.arange(3000.0)
    tree = LMTClassifier(n_iter=0, prune=True, min_samples_split=2, min_samples_leaf=1).fit(x[:, None], x % 10 > 4)
    assert tree.n_nodes_ >= 1


def test_class_weights_multiply_the_weights_of_rows():
    weights = {0: 1.0, 1: 4.0, 2: 0.5}
    by_class = SimpleLogisticClassifier(n_iter=10, class_weight=weights).fit(X, y)
    by_row = SimpleLogisticClassifier(n_iter=10).fit(X, y, np.array([1.0, 4.0, 0.5])[y])
    assert_allclose(by_class.coef_, by_row.coef_)


@pytest.mark.parametrize("estimator", ALL)
def test_pickle_and_clone(estimator, cancer):
    X, y = load_diabetes(return_X_y=True) if isinstance(estimator, M5PRegressor) else cancer
    model = clone(estimator).fit(X, y)
    assert_array_equal(output(pickle.loads(pickle.dumps(model)), X), output(model, X))
    assert_array_equal(output(clone(model).fit(X, y), X), output(model, X))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"min_samples_leaf": 0}, r"min_samples_leaf must be an integer from 1 to 2\^31 - 1; got 0"),
        ({"min_samples_leaf": 2.5}, "min_samples_leaf must be an integer"),
        ({"prune": 1}, "prune must be True or False; got 1"),
        ({"smooth": "yes"}, "smooth must be True or False; got 'yes'"),
        ({"regression_tree": None}, "regression_tree must be True or False; got None"),
        ({"n_iter": -1}, r"n_iter must be an integer from 0 to 2\^31 - 1 or None; got -1"),
        ({"max_iter": 2.5}, "max_iter must be an integer"),
        ({"n_iter_no_change": None}, "n_iter_no_change must be an integer"),
        ({"use_aic": 1}, "use_aic must be True or False; got 1"),
        ({"error_on_probabilities": "yes"}, "error_on_probabilities must be True or False; got 'yes'"),
        ({"shuffle": None}, "shuffle must be True or False; got None"),
        ({"random_state": -1}, "random_state must be"),
        ({"class_weight": "equal"}, "class_weight must be"),
        ({"min_samples_split": 1}, "min_samples_split must be an integer from 2"),
        ({"prune": 0}, "prune must be True or False; got 0"),
        ({"fast_regression": "no"}, "fast_regression must be True or False; got 'no'"),
    ],
)
def test_bad_arguments_are_named_and_the_fitted_tree_stays(arguments, message):
    takers = [tree for tree in (LMTClassifier, M5PRegressor) if set(arguments) <= set(tree().get_params())]
    assert takers
    for tree in takers:
        assert_refused(tree, *piecewise(), message, arguments)


@pytest.mark.parametrize(
    ("column", "values"),
    [("left", [0, 0, 0]), ("left", [2, 0, 0]), ("feature", [7, -1, -1]), ("model", [-1, 0, 2]),
     ("slopes", [[0.0]]), ("params", [0.0])],
)  # fmt: skip
def test_damaged_columns_are_refused(column, values):
    x = np.arange(40.0)[:, None]
    logistic = LMTClassifier(n_iter=0, prune=False).fit(x, x[:, 0] > 19).tree_
    names = ("feature", "threshold", "left", "model", "params")
    model_tree = M5PRegressor(smooth=False).fit(x, np.where(x[:, 0] < 20, 0, x[:, 0]))
    tables = [{name: getattr(logistic, name).reshape(-1) for name in names}, dict(vars(model_tree.tree_))]
    uses = [
        lambda columns: _core.LogisticTree(**columns, mean=np.zeros(1), scale=np.ones(1), n_outputs=1),
        lambda columns: _core.m5p_predict(columns, model_tree.feature_mean_, x),
    ]
    for columns, use in zip(tables, uses, strict=True):
        assert len(columns["feature"]) == 3
        if column in columns:
            columns[column] = np.array(values, dtype=columns[column].dtype)
            with pytest.raises(ValueError, match=r"damaged (tree|model)"):
                use(columns)


@pytest.mark.parametrize("at", ["root", "folds"])
def test_a_long_fit_can_be_interrupted(at):
    X, y = checkerboard(3000)
    arguments = {"n_iter": 10**6} if at == "root" else {"max_iter": 10**6, "n_iter_no_change": 0}
    model = SimpleLogisticClassifier(**arguments)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    try:
        threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not hasattr(model, "tree_")


# --------------------------------------------------------------------------------------------- as text and as a picture


def read_functions(model_lines, x):
    """Evaluate the functions of a leaf as ``export_text`` prints them."""
    functions = {}
    for line in model_lines:
        if " = " in line:
            name, _, value = line.rpartition(" = ")
            functions[name] = float(value)
        else:
            sign, slope, _, feature = line.split()
            functions[name] += (1 if sign == "+" else -1) * float(slope) * x[feature]
    return list(functions.values())


def test_the_text_says_what_the_leaves_predict():
    frame = pd.DataFrame(X, columns=list("abcde"))
    tree = LMTClassifier(n_iter=3, random_state=0).fit(frame, np.array(["low", "mid", "high"])[y])
    branches, *models = export_text(tree, digits=15).split("\n\n")
    assert len(models) == tree.n_leaves_ > 2
    assert "a <= " in branches
    assert "LM1 (54 rows, 12 iterations, error " in branches  # three at the root, three more on each level
    assert [line.split(" = ")[0] for line in models[0].splitlines() if " = " in line] == [
        "LM1: F(high)",
        "F(low)",
        "F(mid)",
    ]
    nodes = tree._shown_nodes(list("abcde"), 15)
    for leaf, row in zip(tree.apply(frame), range(len(frame)), strict=True):
        expected = tree.decision_function(frame.iloc[[row]])[0]
        assert_allclose(read_functions(nodes[leaf].model, frame.iloc[row]), expected, rtol=1e-9, atol=1e-9)


def test_two_classes_have_one_function_and_one_model_can_be_shown(cancer):
    X, y = cancer
    text = export_text(SimpleLogisticClassifier(n_iter=4).fit(X, np.where(y == 1, "benign", "malignant")))
    assert text.startswith("LM1 (569 rows, 4 iterations, error ")
    assert text.count(" = ") == 1
    assert "LM1: log-odds of malignant = " in text


def test_the_picture_has_a_box_per_node():
    X, y = checkerboard()
    tree = LMTClassifier(random_state=0).fit(X, y)
    texts = [text.get_text() for text in plot_tree(tree).texts]
    assert sum("rows" in text for text in texts) == tree.n_nodes_ > 1
    assert sum("log-odds of 1" in text for text in texts) == tree.n_leaves_
