"""monotonic_cst: predictions never go against a constraint, whatever the data; and what constraints cost and gain."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear
from scipy.special import expit

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor, _core
from boostforest._grow.parameters import encode_tree_params
from models import paper_regressor
from test_properties import SEEDS, TARGETS, TREE_SETTINGS, examples, new_rows, tables
from test_roles import NAMES, frame
from twin import example_data

pytestmark = [
    pytest.mark.filterwarnings("ignore:min_samples_leaf=.* needs at least:UserWarning"),
    pytest.mark.filterwarnings("ignore:y has one class only:UserWarning"),
]
SIGNS = st.lists(st.sampled_from([-1, 0, 1, 1]), min_size=12, max_size=12)
GAPS = st.sampled_from([0.0, 0.0, 0.3])  # share of values that are missing
INDICATOR = st.sampled_from(["auto", True])
SETTINGS = st.tuples(TREE_SETTINGS, st.sampled_from(["ridge", "ridge", "constant"])).map(
    lambda drawn: {**drawn[0], "node_model": drawn[1]}
)


def walks(X, j, rng, n_walks=12):
    """Return rows that differ in column j alone, where it rises: its values, values between them, and far outside."""
    known = X[~np.isnan(X[:, j]), j]
    values = np.concatenate([known, rng.uniform(-3, 3, size=8) * (1 + np.abs(known).max(initial=0))])
    values = np.unique(np.append(values, (values[:-1] + values[1:]) / 2))
    starts = X[rng.integers(0, len(X), size=n_walks)]
    rows = np.repeat(starts[:, None], len(values), axis=1)
    rows[:, :, j] = values
    return rows


def assert_monotone(function, X, signs, rng, rounding=0.0):
    """Assert that a function of rows follows all constraints, to the last bit unless `rounding` says otherwise."""
    for j in np.flatnonzero(signs):
        rows = walks(X, j, rng)
        outputs = function(rows.reshape(-1, X.shape[1])).reshape(rows.shape[:2])
        assert (signs[j] * np.diff(outputs, axis=1) >= -rounding).all()


def probability(classifier):
    """Return the function that is constrained in a classifier: the probability of the last class."""
    return lambda rows: classifier.predict_proba(rows)[:, -1]


SIGMOID = 4e-16  # the compiled sigmoid is not monotone in its last bit


# ---------------------------------------------------------------------------------------------------------- the promise


@examples(80)
@given(
    tables(), SIGNS, st.sampled_from(list(TARGETS)), st.sampled_from(["xgb", "mse"]), SETTINGS, st.booleans(),
    st.booleans(), GAPS, INDICATOR,
)  # fmt: skip
def test_regression_follows_its_constraints(table, signs, target, criterion, settings, clip, bootstrap, gaps, mark):
    rng, X = table
    signs = np.array(signs[: X.shape[1]])
    y = TARGETS[target](rng, len(X))
    weight = rng.choice([0.5, 1.0, 3.0], size=len(X))
    gappy = np.where(rng.random(X.shape) < gaps, np.nan, X)
    forest = BoostForestRegressor(
        3,
        criterion=criterion,
        clip=clip,
        bootstrap=bootstrap,
        monotonic_cst=signs,
        missing_indicator=mark,
        **({"preset": "paper"} | settings),
    ).fit(gappy, y, weight)
    assert np.isfinite(forest.predict(new_rows(rng, gappy))).all()
    assert_monotone(forest.predict, new_rows(rng, gappy), signs, rng)


@examples(60)
@given(tables(), SIGNS, st.sampled_from(["xgb", "gini", "c45"]), SETTINGS, GAPS)
def test_classification_follows_its_constraints(table, signs, criterion, settings, gaps):
    rng, X = table
    signs = np.array(signs[: X.shape[1]])
    y = rng.random(len(X)) < expit(2 * np.nan_to_num(X[:, 0] / (1 + np.abs(X[:, 0]).max())))
    gappy = np.where(rng.random(X.shape) < gaps, np.nan, X)
    forest = BoostForestClassifier(3, criterion=criterion, monotonic_cst=signs, **({"preset": "paper"} | settings)).fit(
        gappy, y
    )
    rows = new_rows(rng, gappy)
    assert_monotone(forest.get_tree(1).decision_function, rows, signs, rng)
    assert_monotone(probability(forest), rows, signs, rng, SIGMOID)


@examples(25)
@given(SEEDS, SIGNS, st.sampled_from(["regression", "binary"]), st.booleans())
def test_constraints_hold_with_roles_and_in_every_form_of_the_model(seed, signs, task, clip):
    rng, signs = np.random.default_rng(seed), signs[:5]
    X, y = example_data(task, n=150, d=5, seed=seed)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    columns = {
        "split_features": rng.choice(5, size=3, replace=False),
        "model_features": rng.choice(5, size=3, replace=False),
        "monotonic_cst": signs,
    }
    if task == "binary":
        forest = BoostForestClassifier(4, max_features=2, batch_size=60, **({"preset": "paper"} | columns)).fit(X, y)
        for stage in range(1, 4):
            early = lambda rows, n=stage: list(forest.staged_predict_proba(rows))[n][:, 1]  # noqa: E731
            assert_monotone(early, X, signs, rng, SIGMOID)
        return
    forest = BoostForestRegressor(4, max_features=2, batch_size=60, clip=clip, **({"preset": "paper"} | columns)).fit(
        X, y
    )
    assert_monotone(forest.predict, X, signs, rng)
    assert_monotone(lambda rows: list(forest.staged_predict(rows))[2], X, signs, rng)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_constraints_outlive_a_file_of_fewer_digits_on_every_instruction_set(dtype, reloaded):
    X, y = example_data("regression", n=300, d=5)
    signs = [1, -1, 1, 0, 1]
    forest = paper_regressor(5, monotonic_cst=signs).fit(X, y)
    assert_monotone(reloaded(forest, dtype=dtype).predict, X, signs, np.random.default_rng(0))


def test_a_warm_start_keeps_the_promise():
    X, y = example_data("regression", n=200, d=5)
    signs = [1, 0, -1, 0, 0]
    forest = paper_regressor(3, monotonic_cst=signs, warm_start=True).fit(X, y)
    forest.set_params(n_estimators=8).fit(X, y)
    assert_monotone(forest.predict, X, signs, np.random.default_rng(0))


def test_stages_and_calibration_keep_the_promise():
    X, y = example_data("regression", n=200, d=5)
    signs, rng = [1, -1, 0, 0, 1], np.random.default_rng(0)
    for params in ({"n_stages": 2}, {"preset": "best"}):
        forest = BoostForestRegressor(60, monotonic_cst=signs, random_state=0, **({"preset": "paper"} | params)).fit(
            X, y
        )
        assert_monotone(forest.predict, X, signs, rng)
    for params in ({"n_stages": 2, "calibrate": "temperature"}, {"calibrate": "isotonic"}):
        forest = BoostForestClassifier(60, monotonic_cst=signs, random_state=0, **({"preset": "paper"} | params)).fit(
            X, y > 0
        )
        assert_monotone(probability(forest), X, signs, rng, 10 * SIGMOID)


@pytest.mark.parametrize("settings", [{}, {"batch_size": 60}, {"clip": False}], ids=str)
def test_a_constrained_tree_that_starts_from_scores_is_the_tree_of_what_they_leave_over(settings):
    X, y = map(np.ascontiguousarray, example_data("regression", n=200, d=5))
    signs, start = np.array([1, -1, 0, 0, 1], dtype=np.int8), np.random.default_rng(0).normal(size=(200, 1))
    tree = BoostTreeRegressor(scale=False, monotonic_cst=signs, random_state=0, **settings).fit(X, y - start[:, 0])
    encoded = encode_tree_params(tree._model.params, tree.tree_seeds_, 5)
    table = _core.TrainingTable(X, np.zeros(5), np.ones(5), y, 0, 0, monotone=signs)
    grown = table.grow(encoded, False, 0, None, None, False, 1, None, start=start)
    for name in ("feature", "threshold", "lower", "upper", "params"):
        assert_allclose(grown[name], getattr(tree.forest_, name), rtol=1e-7, atol=1e-9)


# ----------------------------------------------------------------------------------------------------- what comes of it


@pytest.mark.parametrize("node_model", ["ridge", "constant"])
def test_a_constraint_against_the_data_leaves_a_flat_line(node_model):
    X = np.random.default_rng(0).normal(size=(300, 1))
    y = -3 * X[:, 0] + np.random.default_rng(1).normal(size=300)
    for tree in (
        BoostTreeRegressor(node_model=node_model, monotonic_cst=[1], random_state=0).fit(X, y),
        BoostTreeClassifier(node_model=node_model, monotonic_cst=[1], random_state=0).fit(X, y > 0),
    ):
        flat = tree.predict(X) if hasattr(tree, "target_mean_") else tree.predict_proba(X)[:, 1]
        assert flat.std() < 0.15 * np.std(y if hasattr(tree, "target_mean_") else y > 0)


def test_constraints_that_the_data_meet_change_little():
    X = np.random.default_rng(0).normal(size=(400, 3))
    y = 2 * X[:, 0] - X[:, 1] + np.abs(X[:, 2])
    free = paper_regressor(20).fit(X, y)
    bound = paper_regressor(20, monotonic_cst=[1, -1, 0]).fit(X, y)
    new = np.random.default_rng(1).normal(size=(500, 3))
    difference = bound.predict(new) - free.predict(new)
    assert np.sqrt(np.mean(difference**2)) < 0.05 * y.std()


def test_true_constraints_help_where_rows_are_few_and_noisy():
    def rmse(seed, **params):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(120, 6)), rng.normal(size=(1000, 6))
        signal = lambda rows: 2 * np.tanh(rows[:, 0]) + np.exp(0.7 * rows[:, 1]) - rows[:, 2]  # noqa: E731
        forest = BoostForestRegressor(30, random_state=seed, **({"preset": "paper"} | params)).fit(
            X, signal(X) + 2 * rng.normal(size=120)
        )
        return np.sqrt(np.mean((forest.predict(new) - signal(new)) ** 2))

    free = np.mean([rmse(seed) for seed in range(6)])
    bound = np.mean([rmse(seed, monotonic_cst=[1, 1, -1, 0, 0, 0]) for seed in range(6)])
    assert bound < 0.97 * free


def model_of(node, row):
    """Return the output of a node's model for a row, given by names."""
    return node["intercept"] + sum(node[f"slope_{name}"] * x for name, x in row.items())


def node_at_cut(by_path, path, split, row, signs):
    """Return the node at which a side of a split ends at the threshold."""
    while isinstance(by_path[path]["feature"], str):
        name = by_path[path]["feature"]
        value = split["threshold"] if name == split["feature"] else row[name]
        after = path + ("L" if value <= by_path[path]["threshold"] else "R")
        if (name != split["feature"] and signs.get(name)) or by_path[after]["n"] < 80:
            break
        path = after
    return by_path[path]


def score_from_table(by_path, row, start, signs):
    """Predict a row from the table alone, as docs/constraints.md says."""
    score, path, low, high = start, "", -np.inf, np.inf
    while True:
        node = by_path[path]
        if not np.isnan(node["intercept"]):
            score = np.clip(model_of(node, row), score + node["lower"], score + node["upper"])
        name = node["feature"]
        if pd.isna(name):
            return np.clip(score, low, high)
        left = row[name] <= node["threshold"]
        if signs.get(name):
            at_cut = row | {name: node["threshold"]}
            ends = [node_at_cut(by_path, path + side, node, row, signs) for side in "LR"]
            sides = [by_path[path + side] for side in "LR"]
            least, most = min(side["lower"] for side in sides), max(side["upper"] for side in sides)
            value = np.clip(np.mean([model_of(end, at_cut) for end in ends]), score + least, score + most)
            value = np.clip(value, low, high)
            low, high = (low, value) if left == (signs[name] > 0) else (value, high)
        path += "L" if left else "R"


@pytest.mark.parametrize("task", ["regression", "unclipped", "binary"])
def test_a_constrained_tree_can_be_followed_in_its_table(task):
    X, y = frame("binary" if task == "binary" else "regression", n=400)
    signs = {"age": 1, "height": -1, "room": 1}
    if task == "binary":
        tree = BoostTreeClassifier(monotonic_cst=signs, min_samples_leaf=5, random_state=1).fit(X, y)
    else:
        tree = BoostTreeRegressor(monotonic_cst=signs, min_samples_leaf=5, clip=task != "unclipped", random_state=1)
        tree.fit(X, 7 * y + 50)
    nodes = tree.to_dataframe()
    assert nodes["feature"].isin(signs).sum() > 5
    for name, sign in signs.items():
        assert (sign * nodes[f"slope_{name}"].fillna(0) >= 0).all()
    rows = X * 2 - X.mean()  # some are outside
    by_path, start = nodes.set_index("path").to_dict("index"), 0.0 if task == "binary" else tree.target_mean_
    scores = [score_from_table(by_path, row, start, signs) for row in rows.to_dict("records")]
    expected = tree.decision_function(rows) if task == "binary" else tree.predict(rows)
    assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


def test_names_in_a_dict_are_places_in_a_sequence():
    X, y = frame("regression")
    by_name = BoostTreeRegressor(monotonic_cst={"dose": -1, "age": 1, "room": 0}, random_state=0).fit(X, y)
    for signs in ([1, 0, -1, 0, 0], np.array([1.0, 0.0, -1.0, 0.0, 0.0]), (1, 0, np.int8(-1), 0, 0)):
        by_place = BoostTreeRegressor(monotonic_cst=signs, random_state=0).fit(X, y)
        assert_array_equal(by_place.predict(X), by_name.predict(X))
    assert NAMES.index("dose") == 2


# ------------------------------------------------------------------------------------ the regression with bounds, alone


def best_slopes(X, z, v, reg_lambda, signs, path_slopes):
    """Return intercept and slopes by SciPy, and the function that is minimised."""
    x_mean, z_mean = np.average(X, axis=0, weights=v), np.average(z, weights=v)
    d = X.shape[1]
    rows = np.vstack([np.sqrt(v)[:, None] * (X - x_mean), np.sqrt(reg_lambda) * np.eye(d)])
    target = np.append(np.sqrt(v) * (z - z_mean), np.zeros(d))
    bounds = np.where(signs > 0, -path_slopes, -np.inf), np.where(signs < 0, -path_slopes, np.inf)
    slopes = lsq_linear(rows, target, bounds, method="bvls", tol=1e-15, max_iter=1000).x
    return np.append(z_mean - slopes @ x_mean, slopes), lambda a: np.sum((rows @ a - target) ** 2)


def bounded_problem(seed):
    """Return a regression of any size and condition, with bounds."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 60), rng.integers(1, 26)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + rng.choice([0, 1]) * rng.normal(size=(d, d)))
    z, v = X @ rng.normal(size=d) + rng.normal(size=n), rng.uniform(0.1, 3.0, size=n)
    signs = rng.integers(-1, 2, size=d).astype(np.int8)
    return X, z, v, signs, np.abs(rng.normal(size=d)) * signs * rng.choice([0, 1])


@pytest.mark.usefixtures("kernels")
def test_bounded_ridge_equals_scipys():
    for seed in range(60):
        X, z, v, signs, path_slopes = bounded_problem(seed)
        reg_lambda = [1e-3, 0.1, 1.0][seed % 3]
        expected, _ = best_slopes(X, z, v, reg_lambda, signs, path_slopes)
        params = _core.ridge(X, z, v, reg_lambda, signs, path_slopes)
        assert_allclose(params, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
        assert (signs * (path_slopes + params[1:]) >= 0).all()


def test_bounded_ridge_without_penalty_fits_as_well_as_scipys():
    for seed in range(60):
        X, z, v, signs, path_slopes = bounded_problem(seed)
        X[:, -1] = 2 * X[:, 0]  # the slopes need not be the same, but the fit must
        expected, misfit = best_slopes(X, z, v, 0.0, signs, path_slopes)
        params = _core.ridge(X, z, v, 0.0, signs, path_slopes)
        assert misfit(params[1:]) <= misfit(expected[1:]) + 1e-6 * misfit(np.zeros(X.shape[1]))
        assert (signs * (path_slopes + params[1:]) >= 0).all()
