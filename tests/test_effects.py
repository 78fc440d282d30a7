"""Effects of columns: equal to predictions of copies with other values, and quick."""

import time
from itertools import pairwise

import numpy as np
import pytest
from sklearn.inspection import partial_dependence

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeRegressor, _core

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 5))
X[:, 3] = rng.integers(4, size=150)
y = 2 * X[:, 0] + np.sin(3 * X[:, 1]) * 2 + X[:, 2] * X[:, 3] + rng.normal(size=150) * 0.3
WITH_GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
LABELS = np.searchsorted(np.quantile(y, [0.3, 0.6]), y)


def by_copies(outputs, table, column, values):
    """Return the outputs of all rows with each value in a column, rows × values (× outputs)."""
    found = []
    for value in values:
        changed = table.copy()
        changed[:, column] = value
        found.append(outputs(changed))
    return np.stack(found, axis=1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"clip": False},
        {"node_model": "constant"},
        {"node_model": "elm"},
        {"monotonic_cst": [1, 0, 0, 0, 0]},
        {"n_stages": 2, "n_estimators": 40},
        {"model_features": [0, 1]},
        {"dtype": "float32"},
        {"missing_fill": "mean"},
    ],
    ids=str,
)
@pytest.mark.parametrize("table", [X, WITH_GAPS], ids=["whole", "with gaps"])
def test_effects_are_predictions_of_copies(settings, table):
    forest = BoostForestRegressor(random_state=0, **{"n_estimators": 6} | settings, preset="paper").fit(table, y)
    for column in (0, 2, 3):
        effect = forest.effects(table[:40], column, individual=True, grid_resolution=12)
        assert effect.columns == (f"x{column}",) and len(effect.grid[0]) == (4 if column == 3 else 12)
        expected = by_copies(forest.predict, table[:40], column, effect.grid[0])
        np.testing.assert_allclose(effect.individual, expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(effect.average, expected.mean(axis=0), rtol=1e-10, atol=1e-10)


@pytest.fixture(params=["generic", "avx2", "avx512"])
def kernels(request):
    """Use the kernels of an instruction set."""
    before = _core.kernels()
    if not _core.select_kernels(request.param):
        pytest.skip(f"no {request.param} here")
    yield request.param
    _core.select_kernels(before)


GRIDS = [[0.3], np.linspace(-2, 2, 7), np.linspace(-2, 2, 150), np.linspace(-60, 90, 101), [-1e6, 0.0, 0.1, 1e5]]


@pytest.mark.parametrize("grid", GRIDS, ids=len)
def test_probabilities_of_two_classes_are_predictions_of_copies_on_any_grid(kernels, grid):
    """Far off without factors of powers; linear models and constants."""
    weight = np.random.default_rng(4).random(40)
    for settings in ({}, {"node_model": "constant"}):
        forest = BoostForestClassifier(5, random_state=0, preset="paper", **settings).fit(X, y > 0)
        expected = by_copies(forest.predict_proba, X[:40], 1, grid)
        effect = forest.effects(X[:40], 1, grid=grid, individual=True)
        np.testing.assert_allclose(effect.individual, expected, rtol=1e-10, atol=1e-12)
        mean = forest.effects(X[:40], 1, grid=grid, sample_weight=weight).average
        np.testing.assert_allclose(mean, np.average(expected, axis=0, weights=weight), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("grid", GRIDS, ids=len)
def test_curves_of_hidden_layers_are_predictions_of_copies_on_any_grid(kernels, grid):
    """Known at a few points, at every value where these are few, and far off without factors of powers."""
    for settings in ({}, {"clip": False}):
        forest = BoostForestRegressor(5, node_model="elm", random_state=0, preset="paper", **settings).fit(X, y)
        weight = np.random.default_rng(4).random(40)
        effect = forest.effects(X[:40], 1, grid=grid, individual=True)
        expected = by_copies(forest.predict, X[:40], 1, grid)
        np.testing.assert_allclose(effect.individual, expected, rtol=1e-10, atol=1e-10)
        mean = forest.effects(X[:40], 1, grid=grid, sample_weight=weight).average
        np.testing.assert_allclose(mean, np.average(expected, axis=0, weights=weight), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "settings", [{}, {"n_stages": 2}, {"calibrate": "isotonic"}, {"calibrate": "temperature"}], ids=str
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_effects_on_classes_are_predictions_of_copies(settings, n_classes):
    forest = BoostForestClassifier(40, random_state=0, **settings, preset="paper").fit(
        X, np.minimum(LABELS, n_classes - 1)
    )
    for output, method in (("prediction", "predict_proba"), ("score", "decision_function")):
        effect = forest.effects(X[:20], 1, output=output, individual=True, grid_resolution=8)
        expected = by_copies(getattr(forest, method), X[:20], 1, effect.grid[0])
        np.testing.assert_allclose(effect.individual, expected, rtol=1e-10, atol=1e-10)
    assert forest.effects(X[:20], 1).output_names == [str(k) for k in range(n_classes)]


def test_effects_equal_those_of_scikit_learn():
    forest = BoostForestRegressor(6, random_state=0, preset="paper").fit(X, y)
    weight = rng.random(150)
    for columns in (0, (0, 3), (1, 2)):
        features = [columns] if isinstance(columns, int) else list(columns)
        how = {"grid_resolution": 9, "percentiles": (0.1, 0.9), "sample_weight": weight}
        expected = partial_dependence(forest, X, features, method="brute", kind="average", **how)
        effect = forest.effects(X, columns, **how)
        for own, other in zip(effect.grid, expected["grid_values"], strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12)
        np.testing.assert_allclose(effect.average, expected["average"][0], rtol=1e-10)


def test_levels_of_categories_are_the_grid():
    pd = pytest.importorskip("pandas")
    colours = np.array(["red", "green", "blue", None], dtype=object)[np.arange(150) % 4]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(c=colours)
    forest = BoostForestRegressor(6, random_state=0, missing_indicator=True, preset="paper").fit(frame, y)
    effect = forest.effects(frame, "c")
    assert effect.grid[0].tolist() == ["blue", "green", "red", None]
    expected = [forest.predict(frame.assign(c=colour)).mean() for colour in effect.grid[0]]
    np.testing.assert_allclose(effect.average, expected, rtol=1e-10)
    pair = forest.effects(frame, ("a", "c"), grid=[[0.0, 1.0], ["red", "blue"]])
    assert pair.average.shape == (2, 2)
    np.testing.assert_allclose(pair.average[1, 0], forest.predict(frame.assign(a=1.0, c="red")).mean(), rtol=1e-10)


@pytest.mark.parametrize(
    "forest",
    [
        BoostForestRegressor(6, random_state=0, preset="paper"),
        BoostForestRegressor(3, node_model="elm", random_state=0, preset="paper"),
        BoostForestClassifier(6, random_state=0, preset="paper"),
    ],
    ids=["lines", "hidden layers", "classes"],
)
def test_effects_do_not_depend_on_threads(forest):
    forest.set_params(n_jobs=1).fit(X, y > 0 if isinstance(forest, BoostForestClassifier) else y)
    many_rows = np.random.default_rng(2).normal(size=(9000, 5))
    weight = np.random.default_rng(3).random(len(many_rows))
    one = forest.effects(many_rows, 0, sample_weight=weight, grid_resolution=8)
    curves = forest.effects(many_rows, 0, grid_resolution=8, individual=True).individual
    many = forest.set_params(n_jobs=4).effects(many_rows, 0, sample_weight=weight, grid_resolution=8)
    np.testing.assert_array_equal(one.average, many.average)
    np.testing.assert_array_equal(curves, forest.effects(many_rows, 0, grid_resolution=8, individual=True).individual)
    np.testing.assert_allclose(one.average, np.average(curves, axis=0, weights=weight), rtol=1e-12)


def test_effects_are_quick():
    large = np.random.default_rng(1).normal(size=(600, 5))
    forest = BoostForestRegressor(30, random_state=0, n_jobs=1, preset="paper").fit(X, y)
    times = {"own": [], "copies": []}
    for _ in range(3):
        start = time.process_time()
        forest.effects(large, 0)
        times["own"].append(time.process_time() - start)
        start = time.process_time()
        partial_dependence(forest, large, [0], method="brute", kind="average")
        times["copies"].append(time.process_time() - start)
    assert min(times["copies"]) > 2 * min(times["own"])  # eight times, when nothing else is running


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": 5}, "columns must be one column or two of the table, numbers below 5; got 5"),
        ({"columns": "a"}, "columns must be one column or two of the table, numbers below 5; got 'a'"),
        ({"columns": [0, 1, 2]}, "columns must be one column or two different ones; got"),
        ({"columns": [1, 1]}, "columns must be one column or two different ones; got"),
        ({"columns": 0, "output": "x"}, "output must be one of 'prediction', 'score', 'probability'; got 'x'"),
        ({"columns": 0, "grid_resolution": 1}, "grid_resolution must be an integer of at least 2; got 1"),
        ({"columns": 0, "percentiles": (0.9, 0.1)}, "percentiles must be two ascending numbers between 0 and 1"),
        ({"columns": 0, "grid": []}, "grid needs values for each of 1 columns; got"),
        ({"columns": (0, 1), "grid": [[1.0]]}, "grid needs values for each of 2 columns; got"),
        ({"columns": 0, "grid": [np.nan]}, "grid must hold finite numbers"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    forest = BoostForestRegressor(2, random_state=0, preset="paper").fit(X, y)
    with pytest.raises(ValueError, match=message):
        forest.effects(X, **arguments)


# -------------------------------------------------------------------------------------------- accumulated local effects


def ale_by_hand(predict, table, column, edges, weight):
    """Return the effect at the edges, interval by interval, less its mean over the rows (Apley and Zhu 2020)."""
    values = table[:, column]
    effect = [0 * predict(table[:1])[0]]
    for k in range(1, len(edges)):
        first = (values == edges[0]) & (k == 1)
        rows = first | ((values > edges[k - 1]) & (values <= edges[k]))
        low, high = table[rows].copy(), table[rows].copy()
        low[:, column], high[:, column] = edges[k - 1], edges[k]
        w = weight[rows]
        change = np.tensordot(w, predict(high) - predict(low), axes=1) / w.sum() if rows.any() else 0.0
        effect.append(effect[-1] + change)
    inside = (values >= edges[0]) & (values <= edges[-1])
    curves = np.array(effect).reshape(len(edges), -1).T
    means = [np.average(np.interp(values[inside], edges, curve), weights=weight[inside]) for curve in curves]
    return np.array(effect) - (means if np.ndim(effect[0]) else means[0])


@pytest.mark.parametrize("table", [X, WITH_GAPS], ids=["whole", "with gaps"])
def test_accumulated_effects_are_those_of_the_definition(table):
    forest = BoostForestRegressor(40, random_state=0).fit(table, y)
    weight = np.random.default_rng(8).random(150)
    for column in (0, 3):
        effect = forest.effects(table, column, kind="ale", grid_resolution=8, sample_weight=weight)
        assert effect.kind == "ale" and effect.individual is None and 3 <= len(effect.grid[0]) <= 8
        assert np.isin(effect.grid[0], table[:, column]).all()
        expected = ale_by_hand(forest.predict, table, column, effect.grid[0], weight)
        np.testing.assert_allclose(effect.average, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("output", ["prediction", "score"])
def test_accumulated_effects_on_classes_are_those_of_the_definition(output):
    forest = BoostForestClassifier(20, random_state=0, preset="paper").fit(X, LABELS)
    predict = forest.predict_proba if output == "prediction" else forest.decision_function
    effect = forest.effects(X, 1, kind="ale", grid=[-2.0, -1.0, 0.0, 1.0, 2.0], output=output)
    assert effect.output_names == ["0", "1", "2"] and effect.average.shape == (5, 3)
    expected = ale_by_hand(predict, X, 1, effect.grid[0], np.ones(150))
    np.testing.assert_allclose(effect.average, expected, rtol=1e-9, atol=1e-12)


def test_accumulated_effects_of_a_linear_model_have_its_slopes_though_columns_go_together():
    """Partial dependence has them too; what columns that go together do to trees, it does not leave out."""
    table = np.random.default_rng(3).normal(size=(300, 2))
    table[:, 1] += 3 * table[:, 0]
    with pytest.warns(UserWarning, match="min_samples_leaf"):
        tree = BoostTreeRegressor(min_samples_leaf=200, reg_lambda=1e-9, clip=False).fit(
            table, 2 * table[:, 0] - table[:, 1]
        )
    for column, slope in ((0, 2.0), (1, -1.0)):
        effect = tree.effects(table, column, kind="ale")
        np.testing.assert_allclose(np.diff(effect.average) / np.diff(effect.grid[0]), slope, rtol=1e-6)
        inside = (table[:, column] >= effect.grid[0][0]) & (table[:, column] <= effect.grid[0][-1])
        centre = table[inside, column].mean()
        np.testing.assert_allclose(effect.average, slope * (effect.grid[0] - centre), atol=1e-6)


def test_accumulated_effects_of_levels_compare_neighbours():
    pd = pytest.importorskip("pandas")
    colours = np.array(["red", "green", "blue", None], dtype=object)[np.arange(150) % 4]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(c=colours)
    forest = BoostForestRegressor(6, random_state=0, missing_indicator=True, preset="paper").fit(
        frame, y + 3 * (colours == "red")
    )
    order = ["green", None, "red", "blue"]
    effect = forest.effects(frame, "c", kind="ale", grid=order)
    steps = []
    for one, other in pairwise(order):
        rows = frame[[value in (one, other) for value in colours]]
        steps.append((forest.predict(rows.assign(c=other)) - forest.predict(rows.assign(c=one))).mean())
    expected = np.array([0, *np.cumsum(steps)])
    shares = [np.mean([value == level for value in colours]) for level in order]
    np.testing.assert_allclose(effect.average, expected - np.dot(shares, expected), rtol=1e-9, atol=1e-10)
    own = forest.effects(frame, "c", kind="ale")
    assert set(own.grid[0]) == set(order) and own.grid[0][own.average.argmax()] == "red"


def test_levels_are_accumulated_in_the_order_of_their_likeness():
    pd = pytest.importorskip("pandas")
    own = np.random.default_rng(9)
    size = own.normal(size=400)
    names = np.array(["C", "A", "D", "B"])[np.searchsorted([-0.7, 0.0, 0.7], size + own.normal(size=400) / 2)]
    frame = pd.DataFrame({"size": size, "name": names})
    forest = BoostForestRegressor(3, random_state=0, preset="paper").fit(frame, size)
    assert forest.effects(frame, "name", kind="ale").grid[0].tolist() == ["C", "A", "D", "B"]


def test_accumulated_effects_of_a_column_that_says_nothing_are_0():
    constant = np.column_stack([X[:, :2], np.full(150, 3.0)])
    forest = BoostForestRegressor(3, random_state=0, preset="paper").fit(constant, y)
    effect = forest.effects(constant, 2, kind="ale")
    assert effect.grid[0].tolist() == [3.0] and effect.average.tolist() == [0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": (0, 1), "kind": "ale"}, "kind='ale' takes one column; got"),
        ({"columns": 0, "kind": "ale", "individual": True}, "individual=True needs kind='partial'"),
        ({"columns": 0, "kind": "both"}, "kind must be one of 'partial', 'ale'; got 'both'"),
        ({"columns": 0, "kind": "ale", "percentiles": (1, 0)}, "percentiles must be two ascending numbers"),
        ({"columns": 0, "kind": "ale", "grid": [np.inf]}, "grid must hold finite numbers"),
    ],
)
def test_wrong_arguments_of_accumulated_effects_are_named(arguments, message):
    forest = BoostForestRegressor(2, random_state=0, preset="paper").fit(X, y)
    with pytest.raises(ValueError, match=message):
        forest.effects(X, **arguments)


def test_trees_that_take_values_one_by_one_do_not_slow_down_the_others():
    """A forest of both kinds is the sum of its runs."""
    forest = BoostForestRegressor(9, node_model=["ridge", "elm"], random_state=0, preset="paper").fit(X, y)
    assert len({str(params["node_model"]) for params in forest.tree_params_}) >= 2
    effect = forest.effects(X[:30], 0, individual=True, grid_resolution=5)
    np.testing.assert_allclose(
        effect.individual, by_copies(forest.predict, X[:30], 0, effect.grid[0]), rtol=1e-10, atol=1e-10
    )
