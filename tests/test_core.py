"""The parts of the compiled core alone, each against an oracle, on every instruction set that this machine has."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, log_expit, logsumexp, softmax
from sklearn.linear_model import Ridge

import twin
from boostforest import BoostTreeClassifier, _core
from boostforest._base.threads import use_scipy_blas
from models import FORESTS, on_every_instruction_set, output
from twin import example_data, table_of_ties

SOURCE = Path(__file__).parents[1] / "src"
TABLES = ["generic", "avx2", "avx512"]
LABELS = "labels"  # the criteria that compare labels


def test_an_unknown_instruction_set_is_not_selected():
    before = _core.kernels()
    assert not _core.select_kernels("avx1024")
    assert _core.kernels() == before in TABLES


# ----------------------------------------------------------------------------------------------------- ridge regression

# Below, at and above the widths that rows are padded to (4, then multiples of 8); from 64 on BLAS may be used.
SIZES = [(n, d) for d in (1, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 20, 64, 100, 130) for n in (1, 2, 7, 40, 200)]


def ridge_problem(n, d, shift=0.0):
    """Return rows, labels and weights."""
    rng = np.random.default_rng(100 * n + d)
    X = shift + rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n), rng.uniform(0.1, 3.0, size=n)


def sklearn_ridge(X, z, v, reg_lambda):
    """Return intercept and slopes by scikit-learn's most careful solver."""
    model = Ridge(alpha=reg_lambda, solver="svd").fit(X, z, sample_weight=v)
    return np.append(model.intercept_, model.coef_)


@cache
def solved_problems(weighted, reg_lambda):
    """Return the problems of all sizes with their solutions, computed once for all instruction sets."""
    problems = [ridge_problem(n, d) for n, d in SIZES]
    problems = [(X, z, v if weighted else np.ones(len(z))) for X, z, v in problems]
    return [(problem, sklearn_ridge(*problem, reg_lambda)) for problem in problems]


def assert_same_model(params, expected, X, tolerance):
    """Compare parameters, and outputs at the rows."""
    assert_allclose(params, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
    outputs = [p[0] + X @ p[1:] for p in (params, expected)]
    assert_allclose(*outputs, rtol=tolerance, atol=tolerance * np.abs(outputs[1]).max())


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg_lambda", [1e-4, 1e-2, 10.0])
def test_ridge_equals_scikit_learns(reg_lambda, weighted):
    use_scipy_blas()
    for problem, expected in solved_problems(weighted, reg_lambda):
        assert_same_model(_core.ridge(*problem, reg_lambda), expected, problem[0], 1e-8)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("reg_lambda", [1e-3, 10.0])
@pytest.mark.parametrize(("n", "levels"), [(8, (9, 9)), (60, (12, 30)), (400, (12, 30)), (300, (220,)), (90, (3,) * 6)])
def test_ridge_of_one_hot_columns_equals_scikit_learns(n, levels, reg_lambda):
    use_scipy_blas()
    X, z, v = ridge_problem(n, 3)
    rng = np.random.default_rng(n)
    X = np.hstack([X, *(np.eye(k)[rng.integers(k, size=n)] * 2 - 1 for k in levels)])
    assert_same_model(_core.ridge(X, z, v, reg_lambda), sklearn_ridge(X, z, v, reg_lambda), X, 1e-8)


WITHOUT_BLAS = """
import sys
import numpy as np
from boostforest import _core
from test_core import SIZES, TABLES, ridge_problem
for name in TABLES:
    if _core.select_kernels(name):
        params = [_core.ridge(*ridge_problem(n, d), 0.01) for n, d in SIZES]
        np.save(sys.argv[1] + "/" + name, np.concatenate(params))
"""


def test_ridge_without_blas_equals_scikit_learns(tmp_path):
    # In a process of its own: a BLAS that was handed over once cannot be taken back.
    arguments = [sys.executable, "-c", WITHOUT_BLAS, str(tmp_path)]
    subprocess.run(arguments, check=True, cwd=Path(__file__).parent, timeout=60)
    expected = np.concatenate([solution for _, solution in solved_problems(True, 0.01)])
    assert list(tmp_path.iterdir())
    for path in tmp_path.iterdir():
        assert_allclose(np.load(path), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(("n", "d"), [(40, 3), (40, 9), (7, 9), (200, 70), (40, 70)])
def test_ridge_keeps_its_precision_far_from_zero(n, d):
    X, z, v = ridge_problem(n, d, shift=1e6)
    params = _core.ridge(X, z, v, 0.1)
    near = sklearn_ridge(X - 1e6, z, v, 0.1)
    assert_allclose(params[1:], near[1:], rtol=1e-7, atol=1e-7)
    assert_allclose(params[0] + X @ params[1:], near[0] + (X - 1e6) @ near[1:], rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(("n", "d"), [(40, 3), (40, 9), (7, 9), (200, 70), (40, 70)])
def test_ridge_with_the_weights_of_an_almost_pure_node_equals_scikit_learns(n, d):
    X, z, _ = ridge_problem(n, d)
    v = np.logspace(-16, 0, n)  # p (1 - p) of rows that are all but certain, beside one that is not
    assert_same_model(_core.ridge(X, z, v, 0.1), sklearn_ridge(X, z, v, 0.1), X, 1e-7)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(("n", "d"), [(40, 3), (40, 9), (7, 9), (200, 70), (40, 70), (1, 3)])
def test_ridge_without_penalty_fits_collinear_columns(n, d):
    X, z, v = ridge_problem(n, d)
    X[:, -1] = 2 * X[:, 0]
    X[:, d // 2] = 3.0
    params = _core.ridge(X, z, v, 0.0)
    assert np.isfinite(params).all()
    root = np.sqrt(v)
    design = np.column_stack([np.ones(n), X])
    best = design @ np.linalg.lstsq(design * root[:, None], z * root, rcond=None)[0]
    assert_allclose(params[0] + X @ params[1:], best, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("kernels")
@pytest.mark.filterwarnings("ignore:min_samples_leaf=100 needs")
def test_ridge_of_three_classes_without_penalty_is_least_squares():
    X = np.random.default_rng(0).normal(size=(16, 13))
    y = np.arange(16) % 3
    tree = BoostTreeClassifier(min_samples_leaf=100, reg_lambda=0, scale=False).fit(X, y)
    z = np.where(y[:, None] == np.arange(3), 3.0, -1.5)  # pseudo-labels at equal probabilities
    design = np.column_stack([np.ones(16), X])
    fitted = design @ np.linalg.lstsq(design, z, rcond=None)[0]
    assert_allclose(tree.decision_function(X), 2 / 3 * (fitted - fitted.mean(axis=1)[:, None]), atol=1e-8)


# --------------------------------------------------------------------------------------------- losses and probabilities

TASKS = {"regression": (0, 0, 1), "binary": (1, 2, 1), "multiclass": (2, 4, 4)}  # task, classes, outputs
CORNERS = [0.0, 1e-9, -1e-9, 30.0, -30.0, 700.0, -700.0, 1e3, -1e3]


def loss_problem(task, n=19):
    """Return what the core takes: task, classes, scores, labels and weights; some scores are extreme."""
    code, n_classes, n_outputs = TASKS[task]
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=3, size=(n_outputs, n))
    scores[0, : len(CORNERS)] = CORNERS
    y = rng.integers(0, n_classes, size=n).astype(float) if n_classes else rng.normal(size=n)
    return code, n_classes, scores, y, rng.uniform(0.1, 3.0, size=n)


def expected_losses(task, scores, y):
    """Return the loss of every row, by SciPy."""
    if task == "regression":
        return (y - scores[0]) ** 2
    if task == "binary":
        return -log_expit(np.where(y == 1, scores[0], -scores[0]))
    return logsumexp(scores, axis=0) - scores[y.astype(int), np.arange(len(y))]


def test_a_loss_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no such loss"):
        _core.loss(len(_core.LossCode), 0, np.zeros((1, 2)), np.zeros(2), np.ones(2))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("n", [1, 7, 8, 9, 19])
@pytest.mark.parametrize("task", TASKS)
def test_loss_equals_scipys(task, n):
    code, n_classes, scores, y, w = loss_problem(task)
    scores, y, w = np.ascontiguousarray(scores[:, -n:]), y[-n:], w[-n:]
    value = _core.loss(code, n_classes, scores, y, w)[0]
    assert_allclose(value, w @ expected_losses(task, scores, y), rtol=1e-12)
    for i in range(n):  # each row alone: the large must not hide the small
        value = _core.loss(code, n_classes, scores, y, np.eye(n)[i])[0]
        assert_allclose(value, expected_losses(task, scores, y)[i], rtol=1e-12, atol=1e-15)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("task", TASKS)
def test_derivatives_of_the_loss_equal_scipys(task):
    code, n_classes, scores, y, w = loss_problem(task)
    g, h = (a.reshape(scores.shape) for a in _core.loss(code, n_classes, scores, y, w)[1:3])
    if task == "regression":
        expected = scores - y, np.ones_like(scores)
    else:
        p = expit(scores) if task == "binary" else softmax(scores, axis=0)
        expected = p - (y if task == "binary" else np.eye(n_classes)[y.astype(int)].T), p * (1 - p)
    assert_allclose(g, expected[0], rtol=1e-13, atol=1e-15)
    assert_allclose(h, expected[1], rtol=1e-13, atol=1e-15)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("task", TASKS)
def test_derivatives_of_the_loss_equal_numeric_ones(task):
    code, n_classes, scores, y, _ = loss_problem(task)
    scores, step = scores.clip(-3, 3), 1e-5
    n = scores.shape[1]
    g, h = (a.reshape(scores.shape) for a in _core.loss(code, n_classes, scores, y, np.ones(n))[1:3])
    for c, i in np.ndindex(scores.shape):
        moved = [scores + sign * step * (np.indices(scores.shape) == [[[c]], [[i]]]).all(axis=0) for sign in (-1, 1)]
        below, above = (_core.loss(code, n_classes, f, y, np.ones(n)) for f in moved)
        half = 0.5 if task == "regression" else 1.0  # the derivatives are those of half the squared error
        assert_allclose(g[c, i], half * (above[0] - below[0]) / (2 * step), rtol=1e-4, atol=1e-7)
        assert_allclose(h[c, i], (above[1] - below[1]).reshape(scores.shape)[c, i] / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("task", TASKS)
def test_pseudo_labels_equal_the_twins(task):
    code, n_classes, scores, y, _ = loss_problem(task)
    scores = scores.clip(-300, 300)  # farther out the twin's probabilities are zero
    *_, z, v = _core.loss(code, n_classes, scores, y, np.ones(len(y)))
    labels = y if task == "regression" else y.astype(int)
    expected = twin.pseudo_labels(labels, scores.T, np.ones(len(y)), twin.Params(task, n_classes))
    assert_allclose(z.reshape(scores.shape).T, expected[0], rtol=1e-9, atol=1e-12)
    assert_allclose(v.reshape(scores.shape).T, expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("n", [1, 7, 8, 9, 1000])
@pytest.mark.parametrize("n_outputs", [1, 3, 10])
def test_probabilities_equal_scipys(n_outputs, n):
    scores = np.random.default_rng(0).normal(scale=[[1.0]] * (n_outputs - 1) + [[200.0]], size=(n_outputs, n))
    scores[0, : len(CORNERS)] = CORNERS[:n]
    p = _core.outputs(scores, _core.Link.SIGMOID if n_outputs == 1 else _core.Link.SOFTMAX).reshape(n_outputs, n)
    expected = expit(scores) if n_outputs == 1 else softmax(scores, axis=0)
    assert_allclose(p, expected, rtol=1e-14, atol=1e-300)
    assert p.min() >= 0 and p.max() <= 1


# ---------------------------------------------------------------------------------------------------------------- draws


@pytest.mark.parametrize(("n", "b"), [(1, 1), (10, 3), (10, 10), (1001, 1000), (5000, 1000), (2**31 - 1, 50)])
def test_batches_equal_the_twins(n, b):
    for key in (0, 1, 12345, 2**64 - 1)[: 1 if n > 10**9 else None]:  # a quarter of a gigabyte is looked through
        assert_array_equal(_core.batch_positions(key, n, b), twin.batch_positions(key, n, b))


@pytest.mark.parametrize(("n", "n_draws"), [(1, 5), (50, 50), (50, 7), (300, 900)])
def test_bootstrap_counts_equal_the_twins(n, n_draws):
    weights = np.random.default_rng(n).choice([0.0, 0.3, 1.0, 2.2], size=n, p=[0.2, 0.3, 0.3, 0.2])
    weights[n // 2] = 1.0
    for seed in (0, 1, 12345, 2**64 - 1):
        for weight in (None, weights):
            cumulative = None if weight is None else np.cumsum(weight)
            counts = _core.bootstrap_counts(seed, n, n_draws, cumulative)
            assert_array_equal(counts, np.bincount(twin.bootstrap_rows(seed, n, n_draws, weight), minlength=n))
            assert weight is None or not counts[weight == 0].any()


# --------------------------------------------------------------------------------------------------------- all together


@pytest.mark.parametrize("d", [3, 5, 70])
@pytest.mark.parametrize("task", TASKS)
def test_the_forest_is_the_same_on_every_instruction_set(task, d):
    X, y = example_data(task, n=200, d=d)

    def fitted():
        forest = FORESTS[task](5, min_samples_leaf=[10, 15], batch_size=[50, 1000], random_state=1).fit(X, y)
        return forest.forest_.arrays() | {"output": output(forest, X)}

    first, *others = on_every_instruction_set(fitted)
    for other in others:
        for column, expected in first.items():
            assert_allclose(other[column], expected, rtol=1e-8, atol=1e-8, err_msg=column)


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({}, 0.0),
        ({"n_cuts": 3}, 0.1),
        ({"max_features": 3}, 0.0),
        ({"max_leaf_nodes": 20}, 0.1),
        ({"batch_size": 60, "bootstrap": False}, 0.0),
        ({"node_model": "constant", "criterion": LABELS}, 0.1),
        ({"node_model": "elm"}, 0.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("task", TASKS)
def test_splits_that_are_worth_the_same_are_settled_alike_on_every_instruction_set(task, settings, missing):
    X, y = table_of_ties(task, missing=missing)
    if settings.get("criterion") == LABELS:
        settings = settings | {"criterion": "mse" if task == "regression" else ["gini", "c45"]}
    weight = None if settings.get("bootstrap", True) else np.random.default_rng(0).integers(1, 30, size=len(y)) / 10
    forest = FORESTS[task](8, random_state=0, **settings)
    first, *others = on_every_instruction_set(lambda: forest.fit(X, y, sample_weight=weight).forest_)
    for other in others:
        for name in ("tree_start", "left", "feature", "threshold", "missing_left"):
            assert_array_equal(getattr(other, name), getattr(first, name), err_msg=name)


def includes(path):
    """Return the include lines of a source file."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.lstrip().startswith("#include")]


def test_the_core_knows_nothing_of_python():
    files = [*SOURCE.glob("core/**/*.hpp"), *SOURCE.glob("core/**/*.cpp")]
    assert len(files) > 10
    for path in files:
        assert not [line for line in includes(path) if "Python.h" in line or "nanobind" in line or "numpy" in line]


def test_the_kernels_use_no_standard_library():
    # An inline function of it, compiled for AVX-512 there, could be the copy that the linker keeps for everyone.
    kernels = SOURCE / "core" / "kernels"
    files = [kernels / "all.cpp", *(path for path in kernels.glob("*.hpp") if path.name != "kernels.hpp")]
    assert len(files) > 4
    # Intrinsics are never functions of their own, so their header is not such a danger.
    allowed = ('#include "', "#include <immintrin.h>")
    assert all(line.startswith(allowed) for file in files for line in includes(file))


def test_the_committed_stub_is_that_of_the_built_module():
    stubgen = pytest.importorskip("nanobind.stubgen")
    stub = stubgen.StubGen(_core)
    stub.put(_core)
    committed = (SOURCE / "boostforest" / "_core.pyi").read_text(encoding="utf-8")
    assert committed == stub.get(), "make stubs"
