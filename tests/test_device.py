"""Growth and prediction with PyTorch: the same trees as the core's. What runs on a GPU runs on the CPU here."""

import pickle
import sys

import numpy as np
import pytest

import twin
from boostforest import BoostForestClassifier, BoostForestRegressor
from boostforest._base.device import device_for_prediction, find_device
from boostforest._grow import on_device

torch = pytest.importorskip("torch")

from boostforest._gpu import draws, forest, fused, predict  # noqa: E402
from boostforest._gpu import rows as device_rows  # noqa: E402
from boostforest._gpu.ridge import fit_ridges  # noqa: E402
from models import FORESTS  # noqa: E402

CUDA = torch.cuda.is_available()
DEVICE = "torch:cpu"
LABELS = {"criterion": "of the labels"}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def table(n=160, d=5, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, -1] = rng.integers(3, size=n)
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


X, y = table()


def classes(y, n):
    return np.digitize(y, np.quantile(y, np.linspace(0, 1, n + 1)[1:-1]))


def fit_both(estimator, X, y, devices=("cpu", DEVICE), **weights):
    estimator.set_params(preset="paper", random_state=3)
    return [type(estimator)(**estimator.get_params() | {"device": d}).fit(X, y, **weights)._model for d in devices]


def assert_same_trees(ours, cores):
    for name in ("tree_start", "feature", "threshold", "missing_left", "left", "n_samples", "kind", "sum_path"):
        np.testing.assert_array_equal(getattr(ours.columns, name), getattr(cores.columns, name), err_msg=name)
    for name in ("loss", "gain", "lower", "upper", "params"):
        own, other = getattr(ours.columns, name), getattr(cores.columns, name)
        assert own.dtype == other.dtype
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6, err_msg=name)


# ------------------------------------------------------------------------------------------------------------- draws


def test_words_are_those_of_the_core():
    keys = [0, 1, 2**63 + 5, 2**64 - 1]
    tensor = torch.from_numpy(np.array(keys, dtype=np.uint64).view(np.int64))
    for i in (0, 3, 2**31, 2**32 + 7):
        words = draws.word(tensor, torch.tensor(i)).numpy().view(np.uint64)
        assert words.tolist() == [twin.word(key, i) for key in keys]
        assert draws.word(tensor, i).equal(draws.word(tensor, torch.tensor(i)))
        assert draws.uniform(tensor, i).tolist() == [twin.uniform(key, i) for key in keys]
        for n in (1, 10, 2**31 - 1):
            assert draws.below(tensor, i, n).tolist() == [twin.below(key, i, n) for key in keys]


@pytest.mark.parametrize(("n", "b"), [(20, 20), (21, 20), (30, 20), (1000, 20), (2, 1), (7, 3)])
def test_batches_are_those_of_the_core(n, b):
    keys = np.arange(50, dtype=np.int64) * 7919
    ours = device_rows.draw_positions(torch.from_numpy(keys), torch.full((50,), n), b)
    assert ours.tolist() == [twin.batch_positions(int(key), n, b) for key in keys]


# ------------------------------------------------------------------------------------------------------------- trees


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"batch_size": 40},
        {"clip": False, "batch_size": 40},
        {"node_model": "constant", "criterion": "mse", "n_cuts": 3},
        {"max_features": 2, "n_cuts": 2},
        {"max_depth": 3, "bootstrap": False},
        {"batch_size": None, "max_samples": 0.5},
        {"split_features": [0, 2], "model_features": [1, 2]},
        {"model_features": []},
        {"min_samples_leaf": 200},
        {"criterion": ["xgb", "mse"], "batch_size": [40, 1000]},
        {"dtype": "float32"},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_regression_trees_are_those_of_the_core(arguments):
    core, ours = fit_both(BoostForestRegressor(4, **arguments), *table())
    assert_same_trees(ours, core)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"batch_size": 40, "criterion": "gini"},
        {"criterion": "c45"},
        {"class_weight": "balanced_subsample"},
        {"min_samples_leaf": 200},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
def test_classification_trees_are_those_of_the_core(arguments, n_classes):
    core, ours = fit_both(BoostForestClassifier(3, max_depth=5, **arguments), X, classes(y, n_classes))
    assert_same_trees(ours, core)


def test_trees_with_shared_weights_are_those_of_the_core():
    core, ours = fit_both(BoostForestClassifier(3, max_depth=5, shared_hessian=True), X, classes(y, 3))
    assert_same_trees(ours, core)


@pytest.mark.parametrize("fill", ["linear", "mean"])
def test_missing_values_go_where_the_core_sends_them(fill):
    core, ours = fit_both(BoostForestRegressor(5, missing_fill=fill, batch_size=60), *table(missing=0.15))
    assert_same_trees(ours, core)


def test_values_that_only_the_node_misses_go_to_its_larger_side():
    X, y = table(400)
    X[::50, 0] = np.nan
    core, ours = fit_both(BoostForestRegressor(4, batch_size=20), X, y)
    assert_same_trees(ours, core)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_weights_count_as_in_the_core(bootstrap):
    weight = np.random.default_rng(1).random(len(y))
    weight[:20] = 0
    core, ours = fit_both(BoostForestRegressor(3, bootstrap=bootstrap), X, y, sample_weight=weight)
    assert_same_trees(ours, core)


def test_categories_come_as_features():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).assign(colour=pd.Categorical(np.where(X[:, 0] > 0, "red", "blue")))
    frame.columns = frame.columns.astype(str)
    core, ours = fit_both(BoostForestRegressor(3), frame, y)
    assert_same_trees(ours, core)


@pytest.mark.parametrize("arguments", [{}, {"n_cuts": 3}, {"max_features": 3}, LABELS], ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("task", FORESTS)
def test_splits_that_are_worth_the_same_are_settled_as_in_the_core(task, missing, arguments):
    if arguments == LABELS:
        arguments = {"criterion": "mse" if task == "regression" else ["gini", "c45"]}
    core, ours = fit_both(FORESTS[task](4, **arguments), *twin.table_of_ties(task, missing=missing))
    assert_same_trees(ours, core)


def test_constants_of_large_tables_are_split_as_in_the_core():
    X, y = table(600, 8, 0.1)
    estimator = BoostForestClassifier(2, batch_size=300, node_model="constant", n_cuts=3)
    core, ours = fit_both(estimator, X, classes(y, 2))
    assert_same_trees(ours, core)


def test_what_little_deep_nodes_leave_over_is_split_as_in_the_core():
    core, ours = fit_both(BoostForestRegressor(4, reg_lambda=1e-4, min_samples_leaf=4), *table(100, 60))
    assert_same_trees(ours, core)


def test_wide_tables_are_solved_in_the_rows():
    core, ours = fit_both(BoostForestRegressor(2, max_depth=2, reg_lambda=1.0), *table(40, 60))
    assert_same_trees(ours, core)


def test_a_regression_without_a_unique_solution_leaves_directions_without_weight_alone():
    x = torch.tensor([[[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]], dtype=torch.float64)
    w = torch.ones(1, 3, dtype=torch.float64)
    z = 2 * x[..., :1]
    models = fit_ridges(x, w, z, w.unsqueeze(2), torch.zeros(1, dtype=torch.float64))
    np.testing.assert_allclose(models.fitted, z, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_thresholds_of_eight_bit_models_have_as_few_digits_as_in_the_core(missing):
    core, ours = fit_both(BoostForestRegressor(3, dtype="int8"), *table(missing=missing))
    for name in ("feature", "threshold", "missing_left"):
        np.testing.assert_array_equal(getattr(ours.columns, name), getattr(core.columns, name))
    X = np.nan_to_num(table()[0])
    np.testing.assert_allclose(ours.outputs(X, 1), core.outputs(X, 1), atol=0.1)


def test_groups_of_trees_do_not_change_the_forest(monkeypatch):
    (whole,) = fit_both(BoostForestRegressor(5), X, y, [DEVICE])
    monkeypatch.setattr(forest, "_trees_at_once", lambda *_: 2)
    (parts,) = fit_both(BoostForestRegressor(5), X, y, [DEVICE])
    assert_same_trees(parts, whole)


# -------------------------------------------------------------------------------------------------------- prediction


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
def test_predictions_are_those_of_the_core(dtype, missing):
    X, y = table(missing=missing)
    core = BoostForestRegressor(4, preset="paper", dtype=dtype, random_state=0).fit(X, y)
    expected = core.predict(X)
    np.testing.assert_allclose(core.set_params(device=DEVICE).predict(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_core(n_classes):
    core = BoostForestClassifier(4, random_state=0, model_features=[0, 1]).fit(X, classes(y, n_classes))
    expected = core.predict_proba(X)
    np.testing.assert_allclose(core.set_params(device=DEVICE).predict_proba(X), expected, atol=1e-9)


def test_losses_and_node_models_that_only_the_core_grows_are_predicted_as_before():
    for arguments in ({"loss": "poisson"}, {"node_model": "elm"}, {"monotonic_cst": [1, 0, 0, 0, 0]}):
        core = BoostForestRegressor(3, preset="paper", random_state=0, **arguments).fit(X, np.abs(y))
        expected = core.predict(X)
        np.testing.assert_allclose(core.set_params(device=DEVICE).predict(X), expected, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_out_of_bag_scores_are_those_of_the_core(weighted):
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    core, ours = fit_both(BoostForestRegressor(20, max_samples=0.5, oob_score=True), X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.known.prediction, core.known.prediction, rtol=1e-9)
    assert ours.known.score == pytest.approx(core.known.score)


def test_stages_start_from_the_same_scores():
    X, y = table(100, 3)
    fits = [BoostForestRegressor(40, preset="paper", n_stages=2, random_state=0, device=d) for d in ("cpu", DEVICE)]
    expected, ours = (fit.fit(X, y).predict(X) for fit in fits)
    np.testing.assert_allclose(ours, expected, atol=1e-6)


# ------------------------------------------------------------------------------------------------ arguments and files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "gpu"}, r"device must be 'cpu', 'cuda', .* or 'auto'; got 'gpu'"),
        ({"device": None}, "device must be"),
        ({"device": DEVICE, "loss": "huber"}, "does not go with loss='huber'"),
        ({"device": DEVICE, "node_model": ["ridge", "elm"]}, "does not go with node_model='elm'"),
        ({"device": DEVICE, "max_leaf_nodes": 5}, "does not go with max_leaf_nodes=5"),
        ({"device": DEVICE, "monotonic_cst": [1, 0, 0, 0, 0]}, "does not go with monotonic_cst"),
    ],
    ids=str,
)
def test_what_a_gpu_cannot_do_is_said(arguments, message):
    with pytest.raises(ValueError, match=message):
        BoostForestRegressor(2, preset="paper", **arguments).fit(*table())


@pytest.mark.skipif(CUDA, reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_an_error_in_a_fit_and_the_cpu_elsewhere(reloaded):
    with pytest.raises(ValueError, match="device='cuda' needs a GPU that PyTorch can use"):
        BoostForestRegressor(2, preset="paper", device="cuda").fit(X, y)
    fitted = BoostForestRegressor(2, preset="paper", device="auto", random_state=0).fit(X, y)
    expected = fitted.predict(X)
    np.testing.assert_array_equal(fitted.set_params(device="cuda:1").predict(X), expected)
    loaded = reloaded(fitted)
    assert loaded.device == "cuda:1"
    np.testing.assert_array_equal(loaded.predict(X), expected)


def test_without_pytorch_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"device='cuda' needs PyTorch: pip install 'boostforest\[torch\]'"):
        find_device("cuda", pays=True)
    assert find_device("auto", pays=True) is None
    assert device_for_prediction("cuda", pays=True) is None


def test_auto_leaves_small_tables_to_the_cpu(monkeypatch):
    asked = []
    monkeypatch.setattr(on_device, "find_device", lambda device, pays: asked.append(pays))
    BoostForestRegressor(3, preset="paper", device="auto").fit(X, y)
    BoostForestRegressor(3, preset="paper", device="auto").fit(np.repeat(X, 100, axis=0), np.repeat(y, 100))
    assert asked == [False, False]
    monkeypatch.setattr(on_device, "_GPU_FIT", 1e-4)
    BoostForestRegressor(3, preset="paper", device="auto").fit(np.repeat(X, 100, axis=0), np.repeat(y, 100))
    assert asked == [False, False, True]


def test_models_from_a_gpu_are_ordinary_ones(reloaded):
    fitted = BoostForestRegressor(3, preset="paper", device=DEVICE, random_state=0).fit(X, y)
    expected = fitted.predict(X)
    copied = pickle.loads(pickle.dumps(fitted)).set_params(device="cpu")
    np.testing.assert_allclose(copied.predict(X), expected, rtol=1e-9)
    np.testing.assert_allclose(reloaded(fitted).predict(X), expected, rtol=1e-9)


def test_too_little_memory_gives_smaller_groups_then_a_sentence(monkeypatch):
    (expected,) = fit_both(BoostForestRegressor(5), X, y, [DEVICE])
    sizes, grow = [], forest._grow_group

    def grow_few(table, rules, *rest):
        sizes.append(len(rules))
        if len(rules) > most:
            raise torch.cuda.OutOfMemoryError
        return grow(table, rules, *rest)

    monkeypatch.setattr(forest, "_grow_group", grow_few)
    most = 2
    (small,) = fit_both(BoostForestRegressor(5), X, y, [DEVICE])
    assert sizes == [5, 2, 2, 1]
    assert_same_trees(small, expected)
    most = 0
    with pytest.raises(MemoryError, match="has too little memory for 160 rows of 5 features and one tree at a time"):
        fit_both(BoostForestRegressor(5), X, y, [DEVICE])


def test_a_forest_that_does_not_fit_the_device_predicts_on_the_cpu(monkeypatch):
    core = BoostForestRegressor(3, preset="paper", random_state=0).fit(X, y)
    expected = core.predict(X)

    def no_room(*_):
        raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr(predict, "DeviceForest", no_room)
    np.testing.assert_array_equal(core.set_params(device=DEVICE).predict(X), expected)


def test_numbers_that_are_too_large_are_refused_as_in_the_core():
    with pytest.raises(ValueError, match="values too large to compute with"):
        BoostForestRegressor(2, preset="paper", device=DEVICE, scale=False).fit(X * 1e160, y)


# --------------------------------------------------------------------------------------------------------- on a GPU


@pytest.mark.skipif(not CUDA, reason="needs a GPU")
@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"node_model": "constant", "n_cuts": 3},
        {"max_features": 2},
        {"split_features": [0, 2, 5], "max_features": 2},
    ],
    ids=str,
)
def test_kernels_grow_the_trees_of_the_core(n_classes, missing, arguments):
    X, y = table(2000, 8, missing)
    estimator = BoostForestRegressor if n_classes == 0 else BoostForestClassifier
    y = y if n_classes == 0 else classes(y, n_classes)
    core, ours, again = fit_both(estimator(4, batch_size=300, **arguments), X, y, ["cpu", "cuda", "cuda"])
    assert_same_trees(ours, core)
    for name, column in ours.columns.arrays().items():
        np.testing.assert_array_equal(getattr(again.columns, name), column, err_msg=name)


def test_missing_values_are_packed_into_bits():
    missing = torch.zeros(2, 32, dtype=torch.bool)
    missing[0, [0, 31]] = True
    missing[1, 5] = True
    assert fused.pack_bits(missing).numpy().view(np.uint32).tolist() == [2**31 + 1, 32]
