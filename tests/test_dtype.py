"""Coefficients of fewer digits: those of the float64 forest rounded once, and everything reads what is stored."""

import copy
import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge

from boostforest import BoostForestRegressor, BoostTreeRegressor, _core, load_model
from boostforest._base.sampling import Sampling
from boostforest._grow import rounding
from boostforest._grow.rounding import with_smallest_dtype
from boostforest._model.columns import DTYPES, ForestColumns, clip_range_dtype
from boostforest._model.model import Model, Stages
from model_files import field, tensors_of, with_metadata, with_tensors
from models import FORESTS, out_of_bag, output, paper_regressor
from twin import example_data

SHORT = ("float32", "float16")
FLOATS = ("float64", *SHORT)
SETTINGS = {
    "plain": {},
    "unclipped": {"clip": False},
    "constants": {"node_model": "constant"},
    "hidden layers": {"node_model": ["elm", "ridge"]},
    "one leaf": {"max_leaf_nodes": 2, "min_samples_leaf": [10, 100]},
    "fewer features": {"model_features": [0, 2, 3]},
    "constraints": {"monotonic_cst": {"x0": 1, "x2": -1}},
    "large leaves": {"batch_size": 20, "min_samples_leaf": 30},
}

COEFFICIENTS = ("lower", "upper", "params")  # they have the same type, but for int8: see clip_range_dtype


def fit(task, dtype, data=None, **params):
    """Return a small fitted forest and its rows."""
    X, y = data or example_data(task, n=120, d=5)
    if isinstance(signs := params.get("monotonic_cst"), dict):
        params["monotonic_cst"] = [signs.get(f"x{j}", 0) for j in range(X.shape[1])]
    names = FORESTS[task]().get_params()
    params = {name: value for name, value in params.items() if name in names}
    return FORESTS[task](**{"n_estimators": 4, "random_state": 0, "dtype": dtype, **params}).fit(X, y), X


def needed_exponents(largest):
    """Return the smallest exponents with which numbers are at most 127 units."""
    needed = np.full(len(largest), -126)
    while (large := largest > 127 * 2.0**needed).any():
        needed[large] += 1
    return needed


def quantised(columns):
    """Return whole numbers and exponents: what half of a tree's models (nine in ten if summed) need, or more.

    Where models are summed along a path, a node makes up for what its parent has lost.
    """
    numbers, exponents = [], []
    for tree, width in enumerate(1 + columns.n_inputs):
        begin, end = columns.tree_params_start[tree : tree + 2]
        values = columns.params[begin:end].astype(np.float32).astype(np.float64).reshape(-1, width)
        needed = needed_exponents(np.abs(values).max(axis=1))
        shared = (len(needed) - 1) * 9 // 10 if columns.sum_path[tree] else (len(needed) - 1) // 2
        least = np.sort(needed)[shared]
        if width == 1:  # constants lose up to three bits to have the same unit
            least = min(least + 3, needed.max())
        first, last = columns.tree_start[tree : tree + 2]
        parent = (columns.parent[first:last] - first)[1:] if columns.sum_path[tree] and last - first > 1 else ()
        lost = np.zeros_like(values)
        for model, value in enumerate(values):  # of the nodes 1, 2, …, or of the leaves
            if len(parent) and parent[model] > 0:
                value = value + lost[parent[model] - 1]
            exponent = max(needed_exponents(np.float32([np.abs(value).max()]))[0], least)
            number = np.clip(np.rint(value / 2.0**exponent), -127, 127)
            lost[model] = value - number * 2.0**exponent
            numbers.append(number)
            exponents.append(exponent)
    return np.concatenate(numbers), np.array(exponents)


def rounded(exact, dtype):
    """Return a float64 forest whose coefficients were rounded by NumPy."""
    columns = exact.forest_
    if dtype == "int8":
        numbers, exponents = quantised(columns)
        width = np.repeat(1 + columns.n_inputs, np.diff(columns.tree_outputs_start))
        short = {name: getattr(columns, name).astype(np.float16).astype(np.float64) for name in ("lower", "upper")}
        short["params"] = numbers * 2.0 ** np.repeat(exponents, width)
    else:
        short = {name: getattr(columns, name).astype(dtype).astype(np.float64) for name in COEFFICIENTS}
    forest = copy.copy(exact)
    forest._model = replace(forest._model, columns=replace(exact.forest_, **short))
    return forest


# ------------------------------------------------------------------------ what is stored, and what is predicted with it


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("task", FORESTS)
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_a_forest_is_that_of_float64_with_its_coefficients_rounded(task, params, dtype):
    if task == "multiclass" and "monotonic_cst" in params:
        pytest.skip("constraints need one output")
    exact, X = fit(task, "float64", **params)
    short, _ = fit(task, dtype, **params)
    assert short.forest_.dtype == dtype
    for name, column in exact.forest_.arrays().items():
        own = getattr(short.forest_, name)
        assert own.dtype == (dtype if name in COEFFICIENTS else column.dtype)
        assert_array_equal(own, column.astype(own.dtype), err_msg=name)
    assert_allclose(output(short, 3 * X), output(rounded(exact, dtype), 3 * X), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("task", FORESTS)
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_int8_is_whole_numbers_in_units_that_a_trees_models_share(task, params):
    if task == "multiclass" and "monotonic_cst" in params:
        pytest.skip("constraints need one output")
    exact, X = fit(task, "float64", **params)
    short, _ = fit(task, "int8", **params)
    numbers, exponents = quantised(exact.forest_)
    own = short.forest_
    assert own.dtype == own.exponent.dtype == np.int8 and own.lower.dtype == own.upper.dtype == np.float16
    assert_array_equal(own.params, numbers)
    assert_array_equal(own.exponent, exponents)
    assert own.loss is None  # it is only looked at
    for name, digits in (("lower", 3), ("upper", 3), ("gain", 2)):
        assert_allclose(getattr(own, name), getattr(exact.forest_, name), rtol=2.0**-digits, atol=1e-7)
    alike = rounded(exact, "int8")
    ranges = {name: getattr(own, name).astype(np.float64) for name in ("lower", "upper")}
    alike._model = replace(alike._model, columns=replace(alike.forest_, threshold=own.threshold, **ranges))
    assert_allclose(output(short, 3 * X), output(alike, 3 * X), rtol=1e-11, atol=1e-13)
    assert_allclose(short.forest_.linear_models(), alike.forest_.linear_models())
    converted = exact.forest_.astype("int8")
    assert_array_equal(converted.params, own.params)
    assert_array_equal(converted.exponent, own.exponent)
    assert_array_equal(converted.astype("float64").params, alike.forest_.params)


@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize("task", FORESTS)
def test_int8_is_explained_as_the_same_numbers_in_float64_are(task, clip):
    forest, X = fit(task, "int8", clip=clip)
    same = copy.copy(forest)
    same._model = replace(forest._model, columns=forest.forest_.astype("float64"))
    assert_allclose(forest.shap_values(X[:5]), same.shap_values(X[:5]), rtol=1e-9, atol=1e-12)


def test_thresholds_of_int8_are_short_and_part_the_rows_of_their_tree_alike():
    exact, X = fit("regression", "float64", n_estimators=20)
    short, _ = fit("regression", "int8", n_estimators=20)
    drawn = np.array([_core.bootstrap_counts(int(seed), len(X), len(X), None) > 0 for seed in exact.tree_seeds_]).T
    assert_array_equal(short.apply(X)[drawn], exact.apply(X)[drawn])
    before, after = exact.forest_.threshold, short.forest_.threshold
    assert_allclose(after, before, rtol=2**-7)
    digits = np.frexp(after)[0] * 2**12
    assert (digits == np.rint(digits)).mean() > 0.9


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_halves_are_those_of_numpy(dtype):
    numbers = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(dtype)
    numbers = numbers[~np.isnan(numbers)]
    with np.errstate(over="ignore", invalid="ignore"):  # also half-way between two, and beside that
        between = (numbers + np.nextafter(numbers.astype(np.float16), np.float16(np.inf))) / 2
        values = np.concatenate([numbers, between, np.nextafter(between, 0), np.nextafter(between, np.inf)])
        expected = values.astype(np.float16)
    assert_array_equal(_core.halves(values), expected)
    assert_array_equal(np.signbit(_core.halves(values[:0:-1].copy())), np.signbit(expected[:0:-1]))


def quantise(values, group, left=(), at_least=_core.LEAST_EXPONENT):
    """Round the parameters of one tree."""
    sizes, groups, nodes = (np.array([n], dtype=t) for n, t in zip((len(values), group, len(left)), "qiq", strict=True))
    return _core.quantise(np.array(values, dtype=np.float32), sizes, groups, nodes, np.array(left, np.int32), at_least)


@pytest.mark.parametrize("values", [[np.inf, 1.0], [np.nan, 1.0], [1.0, -np.inf]])
def test_quantising_marks_what_is_not_finite(values):
    numbers, exponents = quantise([*values, 1.0, 2.0], 2)
    assert exponents[0] == _core.NO_EXPONENT > exponents[1] and not numbers[:2].any()


@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_quantised_numbers_are_as_near_as_their_unit_allows(values):
    numbers, (exponent,) = quantise(values, len(values), [0])
    assert np.abs(numbers.astype(int)).max() <= 127
    unit = 2.0 ** int(exponent)
    assert_allclose(numbers * unit, values, atol=unit / 2, rtol=1e-12)
    assert exponent == -126 or np.abs(values).max() > 127 * unit / 2


@pytest.mark.parametrize("shift", [0, 3])
def test_what_a_node_loses_by_rounding_its_children_make_up_for(shift):
    rng = np.random.default_rng(0)
    left = [1, 3, 0, 5, 0, 7, 0, 0, 0]  # a chain of splits: 0, 1, 3, 5
    values = rng.normal(size=(8, 6)).astype(np.float32)
    least = int(quantise(values.ravel(), 6, left)[1].min()) + shift
    numbers, exponents = quantise(values.ravel(), 6, left, least)
    assert exponents.min() == least
    found = numbers.reshape(8, 6) * 2.0 ** exponents[:, None].astype(float)
    for path in ([1, 3, 5, 7], [1, 3, 5, 8], [1, 3, 6], [1, 4], [2]):
        models = np.array(path) - 1
        unit = 2.0 ** int(exponents[models[-1]])
        assert_allclose(found[models].sum(axis=0), values[models].sum(axis=0, dtype=float), atol=0.500001 * unit)


def test_no_unit_is_smaller_than_was_asked_for():
    values = np.random.default_rng(0).normal(size=60).astype(np.float32)
    least = int(quantise(values, 6)[1].min()) + 2
    numbers, exponents = quantise(values, 6, at_least=least)
    assert exponents.min() == least
    units = 2.0 ** exponents.astype(float)
    assert_allclose(numbers * np.repeat(units, 6), values, atol=units.max() / 2)


def test_trees_are_quantised_as_if_each_were_alone():
    rng = np.random.default_rng(0)
    trees = [(rng.normal(size=12), 3, []), (rng.normal(size=8), 4, [1, 0, 0]), (rng.normal(size=2), 2, [0])]
    values, groups, left = zip(*trees, strict=True)
    found = _core.quantise(
        np.concatenate(values).astype(np.float32),
        np.array([len(v) for v in values]),
        np.array(groups, dtype=np.int32),
        np.array([len(nodes) for nodes in left]),
        np.concatenate(left).astype(np.int32),
    )
    for together, alone in zip(found, zip(*(quantise(*tree) for tree in trees), strict=True), strict=True):
        assert_array_equal(together, np.concatenate(alone))


@pytest.mark.parametrize("left", [[1, 0], [1, 0, 0, 0], [0, 2, 0], [-1, 0, 0], [1, 1, 0]])
def test_quantising_refuses_children_that_are_not_there(left):
    with pytest.raises(ValueError, match=r"left|model"):
        quantise(np.ones(4), 2, left)


@pytest.mark.parametrize(
    ("sizes", "groups", "n_nodes", "message"),
    [
        ([3], [2], [0], "groups of so many"),
        ([4], [0], [0], "groups of so many"),
        ([-2], [2], [0], "groups of so many"),
        ([6], [2], [0], "all sizes"),
        ([2], [2], [0], "end with the last tree"),
        ([4], [2], [5], "all nodes"),
        ([4], [2], [-1], "all nodes"),
        ([4], [2, 2], [0], "a number per tree"),
    ],
)
def test_quantising_refuses_sizes_that_do_not_fit(sizes, groups, n_nodes, message):
    with pytest.raises(ValueError, match=message):
        _core.quantise(np.ones(4, "f"), np.array(sizes), np.array(groups, "i"), np.array(n_nodes), np.zeros(0, "i"))


@pytest.mark.parametrize("d", [1, 3, 4, 5, 8, 13, 20])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("kernels")
def test_every_instruction_set_reads_the_same_numbers(dtype, d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(90, d))
    exact, _ = fit("regression", "float64", data=(X, X[:, 0] * rng.normal(size=90)))
    params = exact.forest_.params.copy()
    params[::7] *= 1e-7  # some are subnormal in half precision, some are nothing
    exact._model = replace(exact._model, columns=replace(exact.forest_, params=params))
    short = copy.copy(exact)
    short._model = replace(short._model, columns=exact.forest_.astype(dtype))
    gaps = np.where(rng.uniform(size=X.shape) < 0.2, np.nan, X)
    for rows in (X, X[:1], gaps):
        assert_allclose(short.predict(rows), rounded(exact, dtype).predict(rows), rtol=1e-11, atol=1e-13)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("d", [3, 4, 8, 13])
@pytest.mark.parametrize("params", ["plain", "unclipped", "constants", "hidden layers"])
@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_rows_of_int8_have_the_same_bits_alone_and_among_others(task, params, d):
    forest, X = fit(task, "int8", data=example_data(task, n=120, d=d), **SETTINGS[params])
    X[::7, 1] = np.nan
    exact = copy.copy(forest)
    exact._model = replace(forest._model, columns=forest.forest_.astype("float64"))
    alone = np.concatenate([output(forest, X[i : i + 1]) for i in range(len(X))])
    for n in (5, 40, 120):  # from some rows on, trees are unpacked
        assert_array_equal(np.concatenate([output(forest, X[i : i + n]) for i in range(0, len(X), n)]), alone)
    assert_allclose(output(exact, X), alone, rtol=1e-12, atol=1e-14)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("some", [slice(None), slice(1, None, 3)])
@pytest.mark.parametrize("params", ["plain", "unclipped", "constants", "hidden layers"])
@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_thresholds_that_are_not_short_change_nothing_else(task, params, some):
    forest, X = fit(task, "int8", n_estimators=40, **SETTINGS[params])
    X[::7, 1] = np.nan
    columns = forest.forest_
    threshold = columns.threshold.copy()
    of_some = np.isin(columns.tree_of_node, np.arange(40)[some])
    threshold[of_some] = np.nextafter(threshold[of_some], np.inf)  # parts the rows alike, in more digits
    long = copy.copy(forest)
    long._model = replace(forest._model, columns=replace(columns, threshold=threshold))
    for rows in (X[:1], X[1:2], X[:5], X):
        assert_array_equal(output(long, rows), output(forest, rows))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("n_classes", [3, 7, 12, 15, 20, 40])
@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_of_a_row_add_up_to_the_same_bits_alone_and_among_others(dtype, n_classes):
    rng = np.random.default_rng(n_classes)
    data = rng.normal(size=(300, 4)), np.arange(300) % n_classes
    forest, X = fit("multiclass", dtype, data=data, node_model="constant", n_estimators=20)
    alone = np.concatenate([forest._model.sums(X[i : i + 1], 1, scores=True) for i in range(40)])
    assert_array_equal(forest._model.sums(X[:40], 1, scores=True), alone)


def stored_value(value, dtype):
    """Return what a tree stores for a number: the constant of a root that has this label alone."""
    tree = BoostTreeRegressor(node_model="constant", reg_lambda=0, scale=False, min_samples_leaf=2, dtype=dtype)
    params = tree.fit(np.zeros((2, 1)), np.full(2, value)).forest_.params
    assert params.shape == (1,) and params.dtype == dtype
    return params[0]


@pytest.mark.parametrize("dtype", SHORT)
@given(value=st.floats(-65504, 65504) | st.floats(-1e-4, 1e-4))
@example(65519.99999)
@example(2.0**-25)
@example(3 * 2.0**-25)
@example(2.0**-14 - 2.0**-26)
@example(1 + 2.0**-11)
@example(1 + 3 * 2.0**-11)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_numbers_are_rounded_as_numpy_rounds_them(dtype, value):
    expected = np.float64(value).astype(dtype)
    found = stored_value(value, dtype)
    assert found == expected and (value == 0 or np.signbit(found) == np.signbit(expected))


def test_digits_are_enough_for_trees_of_all_settings_not_only_the_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.05 * rng.normal(size=400)
    own = {"preset": "paper", "dtype": "float32", "random_state": 0}
    plain = BoostForestRegressor(20, node_model="constant", **own).fit(X, y)._model
    hidden = BoostForestRegressor(60, node_model="elm", reg_lambda=1e-4, **own).fit(X, y)._model  # large slopes
    model = replace(plain + hidden, stages=Stages((80,)))
    sampling = Sampling(bootstrap=True, n_draws=400)
    data = SimpleNamespace(X=X, y=model.loss.encode(y), sampling=sampling, loss=model.loss, offset=None, source=None)
    outputs = model.outputs(X, 1)
    change = with_smallest_dtype(model, data, 1).outputs(X, 1) - outputs
    assert np.sqrt(np.mean(change**2)) < 0.01 * outputs.std()


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_out_of_bag_predictions_are_made_with_what_is_stored(task):
    forest, X = fit(task, "float16", n_estimators=20, oob_score=True)
    n = len(X)
    outs = [_core.bootstrap_counts(int(seed), n, n, None) == 0 for seed in forest.tree_seeds_]
    trees = [output(forest.get_tree(i), X) for i in range(20)]
    total = sum(np.where(out if t.ndim == 1 else out[:, None], t, 0) for out, t in zip(outs, trees, strict=True))
    count = np.sum(outs, axis=0)
    found = out_of_bag(forest)
    assert_allclose(found, total / (count if task == "regression" else count[:, None]), rtol=1e-12)


def test_constraints_hold_to_the_last_bit():
    X, y = example_data("regression", n=200)
    forest = paper_regressor(10, monotonic_cst=[1, 0, -1, 0], dtype="float16").fit(X, y)
    grid = np.repeat(X[:40, None], 60, axis=1)
    for j, sign in ((0, 1), (2, -1)):
        rows = grid.copy()
        rows[:, :, j] = np.linspace(-3, 3, 60)
        steps = np.diff(forest.predict(rows.reshape(-1, 4)).reshape(40, 60), axis=1)
        assert (sign * steps >= 0).all()


# -------------------------------------------------- what goes with it: memory, threads, warm starts, other trees, files


def test_a_model_takes_half_or_a_third_of_the_memory():
    X, y = example_data("regression", n=300, d=20)
    sizes = [fit("regression", dtype, data=(X, y))[0].model_size_ for dtype in DTYPES]
    assert sizes[1] < 0.6 * sizes[0] and sizes[2] < 0.4 * sizes[0] and sizes[3] < 0.3 * sizes[0]


@pytest.mark.parametrize("dtype", [*SHORT, "int8"])
def test_threads_change_nothing(dtype):
    one, X = fit("multiclass", dtype, n_estimators=9)
    two, _ = fit("multiclass", dtype, n_estimators=9, n_jobs=2)
    assert_array_equal(one.forest_.params, two.forest_.params)
    assert_array_equal(output(one, X), output(two, X))


def test_a_warm_start_goes_on_in_the_same_type():
    whole, X = fit("regression", "float32", n_estimators=6)
    X, y = example_data("regression", n=120, d=5)
    grown = paper_regressor(3, dtype="float32", warm_start=True).fit(X, y)
    grown.set_params(n_estimators=6).fit(X, y)
    assert_array_equal(grown.forest_.params, whole.forest_.params)
    with pytest.raises(ValueError, match=r"goes on with the dtype of the first fit, 'float32'; got 'float16'\.$"):
        grown.set_params(n_estimators=8, dtype="float16").fit(X, y)
    assert grown.forest_.n_trees == 6


@pytest.mark.parametrize("dtype", [*SHORT, "int8"])
def test_trees_of_models_in_python_are_joined_with_others(dtype):
    forest, X = fit("regression", dtype, node_model=["ridge", KernelRidge(alpha=1.0)], min_samples_leaf=30)
    assert forest.forest_.in_python.any() and not forest.forest_.in_python.all()
    assert forest.forest_.dtype == dtype and forest.forest_.lower.dtype == clip_range_dtype(dtype)
    trees = [forest.get_tree(i).predict(X) for i in range(4)]
    assert_allclose(forest.predict(X), np.mean(trees, axis=0), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
@pytest.mark.parametrize("task", ["regression", "binary"])
def test_forests_in_stages_and_adaptive_pools_have_it_too(task, dtype, reloaded):
    forest, X = fit(task, dtype, n_estimators=80, n_stages=2, pool="adaptive", oob_score=True)
    assert forest.forest_.dtype == dtype
    assert_array_equal(output(reloaded(forest), X), output(forest, X))


def test_a_tree_of_the_forest_has_its_type():
    forest, _ = fit("binary", "float32")
    tree = forest.get_tree(1)
    assert tree.dtype == "float32" == tree.forest_.dtype
    assert clone(tree).dtype == "float32"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("task", FORESTS)
def test_copies_and_files_keep_the_type(task, dtype, tmp_path):
    forest, X = fit(task, dtype)
    forest.save_model(tmp_path / "a")
    for other in (load_model(tmp_path / "a"), pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert other.dtype == dtype == other.forest_.dtype
        assert_array_equal(output(other, X), output(forest, X))
    tensors = tensors_of((tmp_path / "a").read_bytes())
    assert tensors["params"].dtype == dtype
    assert tensors["lower"].dtype == tensors["upper"].dtype == clip_range_dtype(dtype)


@pytest.mark.parametrize("own", FLOATS)
@pytest.mark.parametrize("written", FLOATS)
def test_a_file_of_another_type_is_read_as_the_models_own(own, written, tmp_path):
    forest, _ = fit("regression", own)
    forest.save_model(tmp_path / "a", dtype=written)
    loaded = load_model(tmp_path / "a")
    assert tensors_of((tmp_path / "a").read_bytes())["params"].dtype == written
    assert loaded.forest_.dtype == own
    assert_array_equal(loaded.forest_.params, forest.forest_.params.astype(written).astype(own))
    assert_array_equal(loaded.forest_.lower, forest.forest_.lower)


def test_a_file_of_int8_is_read_as_int8(reloaded):
    forest, X = fit("multiclass", "float64")
    loaded = reloaded(forest, dtype="int8")
    assert loaded.forest_.dtype == "int8" and loaded.dtype == "float64"
    assert_allclose(output(loaded, 2 * X), output(rounded(forest, "int8"), 2 * X), rtol=1e-11)


def test_the_parts_of_an_int8_forest_make_the_whole():
    forest, X = fit("multiclass", "int8", n_estimators=6, node_model=["ridge", "elm"])
    parts = [forest.forest_.take(0, 2), forest.forest_.take(2), forest.forest_.take(3, 6)]
    whole = ForestColumns.concatenate(parts)
    for name, column in forest.forest_.arrays().items():
        assert_array_equal(getattr(whole, name), column, err_msg=name)
    trees = [forest.get_tree(i).predict_proba(X) for i in range(6)]
    assert_allclose(forest.predict_proba(X), np.mean(trees, axis=0), rtol=1e-12)


@pytest.mark.parametrize(("params", "dtype"), [({}, "int8"), ({"bootstrap": False}, "float16")])
def test_auto_is_the_smallest_type_that_changes_nothing_that_matters(params, dtype):
    X, y = example_data("regression", n=300, d=5)
    forest = paper_regressor(50, dtype="auto", oob_score=not params, **params).fit(X, y)
    assert forest.forest_.dtype == dtype and forest.dtype == "auto"
    exact = clone(forest).set_params(dtype="int8").fit(X, y).forest_  # whose thresholds are as short
    assert_array_equal(forest.forest_.threshold, exact.threshold)
    if dtype == "int8":
        for name in ("gain", "lower", "upper"):
            assert_array_equal(getattr(forest.forest_, name), getattr(exact, name), err_msg=name)
        whole = clone(forest).set_params(dtype="float64").fit(X, y).forest_
        unit = int(forest.forest_.exponent.min())  # one for all trees
        assert_array_equal(forest.forest_.params, whole.astype("int8", unit).params)


def test_auto_takes_larger_units_where_the_loss_hardly_tells():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    forest = paper_regressor(100, dtype="auto").fit(X, rng.normal(size=300))
    sizes = np.abs(forest.forest_.params[forest.forest_.params != 0].astype(int))
    assert forest.forest_.dtype == "int8" and np.median(sizes) < 8


def test_larger_units_must_not_bend_predictions_away_from_the_target(monkeypatch):
    """As often too large as too small does not help where all trees err to the same side."""
    X, y = example_data("regression", n=400, d=5)
    calls = []
    monkeypatch.setattr("boostforest._estimator.base.with_smallest_dtype", lambda *args: calls.append(args) or args[0])
    paper_regressor(40, dtype="auto").fit(X, y)
    judge = rounding._Judge(*calls[0])
    finer = judge.scores("", rounding.Units())
    bold = 1.02 * finer
    assert judge.rise_of(finer, finer) == 0
    assert judge.rise_of(bold) <= 1 < judge.rise_of(bold, finer)


def test_auto_keeps_digits_that_the_loss_needs():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = X @ [1.0, 1e-3]  # known to six digits: the loss sees all of them
    forest = paper_regressor(20, dtype="auto", reg_lambda=1e-9, clip=False).fit(X, y)
    assert forest.forest_.dtype in ("float64", "float32")


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_auto_judges_many_rows_by_some_of_them(task, monkeypatch):
    X, y = example_data(task, n=300, d=5)
    forest = FORESTS[task](50, dtype="auto", random_state=0, preset="paper").fit(X, y)
    monkeypatch.setattr(rounding, "_MANY_ROWS", 200)
    monkeypatch.setattr(rounding, "_JUDGES", 100)
    judges = []
    of_stage = Model.stage_out_of_bag
    monkeypatch.setattr(
        Model, "stage_out_of_bag", lambda self, i, X, *rest: judges.append(len(X)) or of_stage(self, i, X, *rest)
    )
    part = clone(forest).fit(X, y)
    assert set(judges) == {100} and part.forest_.dtype == forest.forest_.dtype


def test_auto_goes_on_with_the_type_of_the_first_fit():
    X, y = example_data("regression", n=120, d=5)
    forest = paper_regressor(30, dtype="auto", warm_start=True).fit(X, y)
    dtype = forest.forest_.dtype
    assert forest.set_params(n_estimators=40).fit(X, y).forest_.dtype == dtype and forest.forest_.n_trees == 40


def test_auto_judges_all_stages_together():
    X, y = example_data("regression", n=200, d=5)
    params = {"n_stages": 2, "node_model": "constant", "max_leaf_nodes": 4}
    forest = paper_regressor(80, oob_score=True, **params).fit(X, y)
    assert forest.n_stages_ == 2
    model, sampling = forest._model, forest._make_sampling(len(y), None, False, None)
    outputs, seen = model.out_of_bag_outputs(X, sampling, 1)
    assert_array_equal(seen, np.isfinite(forest.oob_prediction_))
    assert_allclose(model.loss.decode(outputs)[seen], forest.oob_prediction_[seen], rtol=1e-12)
    assert clone(forest).set_params(dtype="auto").fit(X, y).forest_.dtype == "int8"


def test_a_file_has_the_type_of_the_fit_whatever_is_set_for_the_next(reloaded):
    forest, _ = fit("regression", "float32")
    loaded = reloaded(forest.set_params(dtype="float64"))
    assert loaded.dtype == "float64" and loaded.forest_.dtype == "float32"


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("dtype", [*SHORT, "int8"])
def test_what_does_not_fit_is_refused_and_the_forest_stays(dtype):
    forest, X = fit("regression", dtype)
    before = forest.predict(X)
    y = np.linspace(0.5, 1, len(X)) * (1e39 if dtype == "float32" else 1e6)
    with pytest.raises(ValueError, match=f"too large to compute with in dtype='{dtype}'; rescale them, or use scale="):
        forest.set_params(scale=False).fit(X, y)
    assert_array_equal(forest.predict(X), before)


def test_files_whose_types_do_not_fit_together_are_refused(tmp_path):
    forest, _ = fit("regression", "float32")
    path = tmp_path / "a"
    forest.save_model(path)
    content = path.read_bytes()
    assert field(content, "dtype") == "float32"
    lower = tensors_of(content)["lower"]
    for bad, reason in (
        (with_metadata(content, dtype='"bfloat16"'), "dtype must be one of 'float64', .* got 'bfloat16'"),
        (with_metadata(content, dtype=["float32"]), "dtype must be one of"),
        (with_metadata(content, dtype='"float64"'), "'lower' must be float64; got float32"),
        (with_metadata(content, dtype=None), "'lower' must be float64; got float32"),
        (with_tensors(content, lower=lower.astype(np.float64)), "'lower' must be float32; got float64"),
    ):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=f"cannot be loaded: .*{reason}"):
            load_model(path)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_int8_may_be_stored_as_floats_which_it_then_is(dtype, reloaded):
    forest, X = fit("multiclass", "int8")
    loaded = reloaded(forest, dtype=dtype)
    assert loaded.forest_.dtype == dtype
    assert_allclose(output(loaded, X), output(forest, X), rtol=1e-12)


def test_int8_is_refused_where_it_does_not_fit_a_file(tmp_path):
    path = tmp_path / "a"
    large, _ = fit("regression", "float64", scale=False)
    columns = replace(large.forest_, upper=np.where(large.forest_.upper < np.inf, 1e5, np.inf))
    large._model = replace(large._model, columns=columns)
    with pytest.raises(ValueError, match=r"dtype='int8' holds clip ranges up to 65504 .*: use a larger dtype\.$"):
        large.save_model(path, dtype="int8")
    fit("regression", "int8")[0].save_model(path)
    content = path.read_bytes()
    exponent = tensors_of(content)["exponent"]
    for bad, reason in (
        (with_tensors(content, exponent=exponent[:-1]), "models without exponents"),
        (with_tensors(content, exponent=np.append(exponent, exponent)), "exponents of no model"),
        (with_tensors(content, exponent=exponent.astype(np.int32)), "'exponent' must be int8"),
        (with_tensors(content, params=tensors_of(content)["params"].astype(np.float64)), "'params' must be int8"),
        (with_metadata(content, dtype='"float16"'), "'params' must be float16; got int8"),
    ):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=f"cannot be loaded: .*{reason}"):
            load_model(path)


def test_columns_of_different_types_are_refused():
    forest, X = fit("regression", "float32")
    columns = replace(forest.forest_, lower=forest.forest_.lower.astype(np.float64))
    forest._model = replace(forest._model, columns=columns)
    with pytest.raises(ValueError, match="damaged model: lower, upper and params must have the same type"):
        forest.predict(X)
