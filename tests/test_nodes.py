"""boostforest.nodes: the objects and their names, what the built-in models compute, and what is known of them later."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import expit
from sklearn import linear_model, svm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeRegressor, _core
from boostforest.nodes import ELM, Constant, LinearSVR, Ridge
from models import FORESTS, paper_classifier, paper_regressor
from twin import example_data

X, y = example_data("regression")


def one_leaf(node_model, X, y, **params):
    """Return a tree of one leaf: the node model alone."""
    tree = BoostTreeRegressor(node_model=node_model, min_samples_leaf=len(X), scale=False, clip=False, **params)
    with pytest.warns(UserWarning, match="min_samples_leaf"):
        return tree.fit(X, y)


def drawn_models(forest):
    """Return the node model of each tree."""
    return [tree["node_model"] for tree in forest.tree_params_]


# ----------------------------------------------------------------------------- the objects, their names and their pools


@pytest.mark.parametrize("model", [Constant(), Ridge(2.0), ELM(5, reg_lambda=[0.1, 1]), LinearSVR(epsilon=0.0)])
def test_an_object_is_copied_compared_and_shown_by_its_parameters(model):
    copy = clone(model)
    assert copy == model and copy is not model and hash(copy) == hash(model)
    assert repr(eval(repr(model))) == repr(model)
    assert model not in (Ridge(), "ridge", None, clone(model).get_params())


def test_names_are_the_same_models_with_the_same_forests():
    for name, model in {"ridge": Ridge(), "constant": Constant(), "elm": ELM(), "svr": LinearSVR()}.items():
        by_name, by_object = (BoostTreeRegressor(node_model=m, random_state=0).fit(X, y) for m in (name, model))
        assert_array_equal(by_name.predict(X), by_object.predict(X))


def test_names_stand_for_the_papers_pools_in_forests_and_for_one_value_in_trees():
    X, y = example_data("regression", n=40)
    elm = paper_regressor(200, node_model="elm").fit(X, y)
    assert {m.n_hidden for m in drawn_models(elm)} == {10, 20, 30, 40}
    assert {m.reg_lambda for m in drawn_models(elm)} == {None}  # that of the tree, as for ridge
    svr = paper_regressor(200, node_model="svr").fit(X, y)
    assert {m.C for m in drawn_models(svr)} == {0.01, 0.1, 1.0, 10.0, 100.0}
    assert {m.epsilon for m in drawn_models(svr)} == {0.1, 0.2, 0.4, 0.8, 1.0}
    assert drawn_models(BoostTreeRegressor(node_model="elm").fit(X, y)) == [ELM(n_hidden=20)]
    assert drawn_models(BoostTreeRegressor(node_model="svr").fit(X, y)) == [LinearSVR(C=1.0, epsilon=0.1)]
    assert drawn_models(BoostTreeRegressor().fit(X, y)) == ["ridge"]


def test_parameters_of_a_model_are_drawn_evenly_and_independently():
    X, y = example_data("regression", n=30)
    pools = {"C": [0.1, 1.0], "epsilon": (0.1, 0.2, 0.4), "tol": stats.loguniform(1e-6, 1e-4)}
    forest = BoostForestRegressor(
        1200, node_model=[LinearSVR(**pools), "constant"], max_leaf_nodes=2, random_state=1, preset="paper"
    )
    models = [m for m in drawn_models(forest.fit(X, y)) if m != "constant"]
    assert len(models) == pytest.approx(600, abs=75)
    table = np.array([[sum((m.C, m.epsilon) == (c, e) for m in models) for e in (0.1, 0.2, 0.4)] for c in (0.1, 1.0)])
    assert stats.chisquare(table.ravel()).pvalue > 1e-3
    tols = [m.tol for m in models]
    assert len(set(tols)) == len(tols) and 1e-6 < min(tols) < max(tols) < 1e-4


def test_pools_of_a_model_leave_all_other_draws_alone():
    X, y = example_data("regression", n=60)
    forests = [paper_regressor(6, node_model=model).fit(X, y) for model in ("ridge", Ridge([0.5, 2.0]))]
    others = [{k: v for k, v in tree.items() if k != "node_model"} for tree in forests[0].tree_params_]
    assert others == [{k: v for k, v in tree.items() if k != "node_model"} for tree in forests[1].tree_params_]


def test_own_penalty_is_for_the_models_and_that_of_the_tree_for_the_gain():
    settings = {"max_leaf_nodes": 2, "random_state": 0}
    both = BoostTreeRegressor(reg_lambda=5.0, **settings).fit(X, y)
    own = BoostTreeRegressor(node_model=Ridge(5.0), reg_lambda=0.1, **settings).fit(X, y)
    assert own.forest_.gain[0] != both.forest_.gain[0]
    if own.forest_.feature[0] == both.forest_.feature[0]:
        assert_array_equal(own.forest_.params, both.forest_.params)


def test_grid_search_reaches_the_parameters_of_a_model():
    X, y = load_diabetes(return_X_y=True)
    grid = {"node_model__C": [1e-4, 1.0], "node_model": [LinearSVR(epsilon=0.2)]}
    search = GridSearchCV(BoostTreeRegressor(max_leaf_nodes=3, random_state=0), grid, cv=3).fit(X, y)
    assert search.best_params_["node_model"].C == 1.0


def test_get_tree_has_the_drawn_model_and_grows_the_same_tree():
    forest = paper_regressor(4, node_model=["elm", "svr"], bootstrap=False).fit(X, y)
    for i, model in enumerate(drawn_models(forest)):
        tree = forest.get_tree(i)
        assert tree.node_model == model
        assert_array_equal(tree.forest_.params, forest.forest_.take(i).params)
        assert_array_equal(tree.forest_.hidden, forest.forest_.take(i).hidden)


# ----------------------------------------------------------------- ELM against ridge regression on its own hidden layer


@pytest.mark.parametrize("n_hidden", [1, 4, 7, 8, 30, 130])
@pytest.mark.usefixtures("kernels")
def test_an_elm_is_ridge_regression_on_its_hidden_layer(n_hidden):
    X, y = example_data("regression", n=90, d=6)
    tree = one_leaf(ELM(n_hidden, reg_lambda=0.03), X, y, random_state=0)
    biases, weights = tree.forest_.hidden_layer(0)
    H = expit(biases + X @ weights)
    expected = linear_model.Ridge(alpha=0.03, solver="svd").fit(H, y)
    assert_allclose(tree.forest_.params, [expected.intercept_, *expected.coef_], rtol=1e-7, atol=1e-7)
    assert_allclose(tree.predict(X), expected.predict(H), rtol=1e-9, atol=1e-9)
    new = 5 * np.random.default_rng(1).normal(size=(33, 6))
    assert_allclose(tree.predict(new), expected.predict(expit(biases + new @ weights)), rtol=1e-7, atol=1e-7)


def test_projections_are_standardised_and_units_bend_within_the_data():
    X = example_data("regression", n=200, d=5)[0] * [1.0, 100.0, 0.01, 5.0, 1.0] + [0.0, 7.0, 3.0, -20.0, 1e3]
    tree = one_leaf(ELM(300), X, X[:, 0], random_state=0)
    biases, weights = tree.forest_.hidden_layer(0)
    projections = X @ weights
    assert_allclose(projections.std(axis=0), 1.0, rtol=1e-9)
    bends = biases + projections.mean(axis=0)
    assert stats.kstest(bends, stats.uniform(-2, 4).cdf).pvalue > 1e-3


def test_constant_features_leave_units_that_say_nothing():
    X = np.full((40, 3), 0.1)  # not representable: sums of it are not exact
    tree = one_leaf(ELM(5, reg_lambda=0.0), X, np.arange(40.0), random_state=0)
    assert_array_equal(tree.forest_.hidden_layer(0)[1], 0.0)
    assert_allclose(tree.predict(X), 19.5)


# ---------------------------------------------------------------------------- linear SVR against scikit-learn's solvers


def svr_problem(n, d, seed=0):
    """Return rows away from zero, labels and weights."""
    rng = np.random.default_rng([n, d, seed])
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    z = 0.3 * X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) + 0.5
    return X, z, rng.integers(1, 4, size=n).astype(float)


def svr_objective(params, X, z, v, C, epsilon, intercept_penalty):
    """Return what a linear SVR minimises."""
    errors = np.maximum(0.0, np.abs(params[0] + X @ params[1:] - z) - epsilon)
    return (params[1:] @ params[1:] + intercept_penalty * params[0] ** 2) / 2 + C * v @ errors


def both_objectives(n, d, C, epsilon):
    """Return the objective of our SVR, converged to the default tolerance, and that of scikit-learn's."""
    X, z, v = svr_problem(n, d)
    params, converged = _core.linear_svr(X, z, v, C, epsilon, 1.0, 1e-4, 100)
    assert converged
    theirs = svm.LinearSVR(C=C, epsilon=epsilon, tol=1e-6, max_iter=100_000, random_state=0).fit(X, z, v)
    their_params = np.append(theirs.intercept_, theirs.coef_)
    return [svr_objective(p, X, z, v, C, epsilon, 1.0) for p in (params, their_params)]


SVR_SIZES = [(5, 1), (20, 3), (60, 8), (150, 5), (12, 30)]


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
@pytest.mark.parametrize(("n", "d"), SVR_SIZES)
def test_the_svr_objective_is_that_of_scikit_learns_linear_svr(n, d, C, epsilon):
    ours, theirs = both_objectives(n, d, C, epsilon)
    assert ours == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize(("n", "d"), SVR_SIZES)
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_the_svr_objective_is_as_low_where_scikit_learns_solver_struggles(n, d):
    ours, theirs = both_objectives(n, d, 100.0, 0.1)
    assert ours <= theirs * (1 + 1e-4)


@pytest.mark.parametrize(("n", "d"), [(20, 3), (60, 8), (150, 2), (12, 30)])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_intercept_is_as_good_as_free(n, d, C):
    X, z, _ = svr_problem(n, d)
    params = one_leaf(LinearSVR(C=C, epsilon=0.1), X, z).forest_.params
    theirs = svm.SVR(kernel="linear", C=C, epsilon=0.1, tol=1e-6).fit(X, z)
    both = (params, np.append(theirs.intercept_, theirs.coef_[0]))
    ours, expected = [svr_objective(p, X, z, np.ones(n), C, 0.1, 0.0) for p in both]
    assert ours == pytest.approx(expected, rel=1e-4)


def test_labels_within_the_tube_need_no_model():
    X, z, v = svr_problem(30, 4)
    params, converged = _core.linear_svr(X, z, v, 1.0, np.abs(z).max(), 1.0, 1e-4, 100)
    assert converged
    assert_array_equal(params, 0.0)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("node_model", ["elm", "svr"])
def test_classes_are_learned(task, node_model):
    X, y = load_iris(return_X_y=True) if task == "multiclass" else load_breast_cancer(return_X_y=True)
    forest = paper_classifier(40, node_model=node_model, oob_score=True).fit(X, y)
    assert forest.oob_score_ > 0.94


def test_a_fit_that_does_not_converge_says_so_once_with_counts():
    X, y = example_data("multiclass")
    forest = paper_classifier(3, node_model=LinearSVR(max_iter=2), n_jobs=2)
    with pytest.warns(ConvergenceWarning, match=r"LinearSVR failed to converge at \d+ nodes") as caught:
        forest.fit(X, y)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert np.isfinite(forest.predict_proba(X)).all()


def test_the_papers_pools_converge_on_ordinary_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for load in (load_diabetes, load_iris, load_breast_cancer):
            X, y = load(return_X_y=True)
            make = BoostForestRegressor if load is load_diabetes else BoostForestClassifier
            make(25, node_model="svr", random_state=0).fit(X, y)


# ---------------------------------------------------- later: files, tables, importances, out-of-bag scores, warm starts


@pytest.mark.parametrize("node_model", ["elm", "svr"])
@pytest.mark.parametrize("task", FORESTS)
def test_warm_starts_continue_and_out_of_bag_scores_hold(task, node_model):
    X, y = example_data(task)
    forest = FORESTS[task](20, node_model=node_model, oob_score=True, random_state=0).fit(X, y)
    grown = FORESTS[task](8, node_model=node_model, warm_start=True, random_state=0).fit(X, y)
    grown.set_params(n_estimators=20, oob_score=True).fit(X, y)
    assert_array_equal(grown.predict(X), forest.predict(X))
    assert grown.oob_score_ == forest.oob_score_ > (0.1 if task == "regression" else 0.5)


@pytest.mark.parametrize("node_model", [ELM(n_hidden=[3, 6]), [ELM(4), "svr", "constant"]])
@pytest.mark.parametrize("task", FORESTS)
def test_a_forest_with_hidden_layers_can_be_followed_in_its_table(task, node_model):
    X, y = example_data(task, n=60)
    forest = FORESTS[task](6, node_model=node_model, min_samples_leaf=10, random_state=0).fit(X, y)
    labels = [f"_{c}" for c in forest.classes_] if task == "multiclass" else [""]
    Z = (X - forest.feature_mean_) / forest.feature_scale_
    for t, nodes in forest.to_dataframe().groupby("tree"):
        biases, weights = forest.forest_.hidden_layer(t)
        units = expit(biases + Z @ weights)
        tree = forest.get_tree(t)
        scores = np.zeros((len(X), len(labels)))
        visited = tree.decision_path(X).toarray().astype(bool)
        for node, row in enumerate(nodes.to_dict("records")):
            for c, label in enumerate(labels):
                if np.isnan(row[f"intercept{label}"]):
                    continue
                value = np.full(len(X), row[f"intercept{label}"])
                if len(biases):
                    value += units @ [row[f"hidden{label}_{k}"] for k in range(len(biases))]
                else:
                    value += X @ [row[f"slope{label}_x{j}"] for j in range(4)]
                scores[:, c] += np.clip(value, row["lower"], row["upper"]) * visited[:, node]
        expected = tree.predict(X) if task == "regression" else tree.decision_function(X)
        assert_allclose(scores if task == "multiclass" else scores[:, 0], expected, rtol=1e-9, atol=1e-9)


def test_slope_importances_are_those_of_linear_models_only():
    assert not hasattr(BoostForestRegressor(2, node_model="elm", preset="paper").fit(X, y), "slope_importances_")
    with pytest.raises(AttributeError, match="slope_importances_ needs node models with slopes"):
        _ = BoostTreeRegressor(node_model="elm").fit(X, y).slope_importances_
    linear = paper_regressor(5, node_model="svr").fit(X, y)
    assert linear.slope_importances_.argmax() in (0, 1)
    assert_allclose(BoostForestRegressor(5, node_model="elm", preset="paper").fit(X, y).feature_importances_.sum(), 1.0)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_fewer_digits_round_the_models_but_not_the_hidden_layer(dtype, reloaded):
    X, y = load_diabetes(return_X_y=True)
    forest = paper_regressor(10, node_model="elm").fit(X, y)
    loaded = reloaded(forest, dtype=dtype)
    assert_array_equal(loaded.forest_.hidden, forest.forest_.hidden)
    assert_allclose(loaded.predict(X), forest.predict(X), rtol=1e-5 if dtype == "float32" else 0.05)
    assert not np.array_equal(loaded.predict(X), forest.predict(X))


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("node_model", "message"),
    [
        ("elms", r"^node_model must be one of 'constant', 'ridge', 'elm', 'svr', an object of .*; got 'elms'\.$"),
        (ELM, "^node_model must be one of .*; got <class 'boostforest.nodes._native.ELM'>"),
        (ELM(n_hidden=0), "^ELM.n_hidden must be an integer from 1 to .*; got 0"),
        (ELM(n_hidden=2.5), "^ELM.n_hidden must be an integer"),
        (ELM(n_hidden=[]), "^ELM.n_hidden is an empty pool"),
        (ELM(reg_lambda=-1), "^ELM.reg_lambda must be a finite number of at least 0 or None, .*; got -1"),
        (Ridge("big"), "^Ridge.reg_lambda must be a finite number of at least 0 or None"),
        (LinearSVR(C=0), "^LinearSVR.C must be a finite number above 0, a sequence of such values or a distribution"),
        (LinearSVR(C=[1.0, np.inf]), "^LinearSVR.C must be a finite number above 0"),
        (LinearSVR(epsilon=stats.norm(-9)), "^LinearSVR.epsilon must be a finite number of at least 0"),
        (LinearSVR(tol=0.0), "^LinearSVR.tol must be a finite number above 0"),
        (LinearSVR(max_iter=0), "^LinearSVR.max_iter must be an integer from 1"),
        (LinearSVR(intercept_scaling=-1.0), "^LinearSVR.intercept_scaling must be a finite number above 0"),
        (["ridge", LinearSVR(C=-1)], "^LinearSVR.C must be"),
    ],
    ids=lambda value: str(value).partition(" object at ")[0],  # addresses are others in every process
)
def test_bad_node_models_are_refused(node_model, message):
    X, y = example_data("regression", n=40)
    with pytest.raises(ValueError, match=message):
        BoostForestRegressor(3, node_model=node_model, preset="paper").fit(X, y)
