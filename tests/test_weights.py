"""What `sample_weight` counts: out-of-bag figures, intervals, sets, stages, pools and calibration; draws and units."""

import signal
import threading
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    get_scorer,
    log_loss,
    make_scorer,
    max_error,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from boostforest import (
    BoostForestClassifier,
    BoostForestRegressor,
    BoostTreeRegressor,
    PoolForestClassifier,
    PoolForestRegressor,
    _core,
    load_model,
)
from boostforest._base.arrays import weight_in_rows
from boostforest._grow.objective import Objective
from boostforest._losses import Logistic, SquaredError
from boostforest._model.conformal import effective_rows, limits, thin_out, weighted_rows
from model_files import GOLDEN, with_tensors
from models import FORESTS as PAPER
from models import TREES, out_of_bag, output, paper_classifier, paper_regressor
from twin import example_data

FORESTS = {
    "regression": (PAPER["regression"], PoolForestRegressor),
    "binary": (PAPER["binary"], PoolForestClassifier),
    "multiclass": (PAPER["multiclass"], PoolForestClassifier),
}


def spoiled(task, n=160, n_bad=60):
    """Return a table whose last rows have absurd labels and no weight; and the weights."""
    X, y = example_data(task, n=n)
    y = y.copy()
    if task == "regression":
        y[-n_bad:] = 1e4 * (-1.0) ** np.arange(n_bad)
    else:
        y[-n_bad:] = (y[-n_bad:] + 1) % (y.max() + 1)
    weight = np.ones(n)
    weight[-n_bad:] = 0
    return X, y, weight


def clean_labels(task, n=160):
    """Return the labels of the same table before any was spoiled."""
    return example_data(task, n=n)[1]


# ----------------------------------------------------------------------------------------------------------- out of bag


@pytest.mark.parametrize("kind", [0, 1], ids=["BoostForest", "PoolForest"])
@pytest.mark.parametrize("task", FORESTS)
def test_rows_without_weight_do_not_count_in_out_of_bag_scores(task, kind):
    X, y, weight = spoiled(task)
    forest = FORESTS[task][kind](n_estimators=40, oob_score=True, random_state=0).fit(X, y, weight)
    clean = FORESTS[task][kind](n_estimators=40, oob_score=True, random_state=0).fit(X, clean_labels(task), weight)
    assert forest.oob_score_ == clean.oob_score_ > 0.1
    good = weight > 0
    if task == "regression":
        assert_allclose(forest.oob_score_, r2_score(y[good], forest.oob_prediction_[good]))
        assert np.isfinite(forest.oob_prediction_[~good]).all()  # predictions are there all the same


@pytest.mark.parametrize("kind", [0, 1], ids=["BoostForest", "PoolForest"])
@pytest.mark.parametrize("task", FORESTS)
def test_out_of_bag_scores_are_weighted_by_sample_weight_and_not_by_class_weight(task, kind):
    X, y = example_data(task, n=120)
    weight = np.random.default_rng(0).uniform(0.1, 3, size=len(y))
    params = {} if task == "regression" else {"class_weight": "balanced"}
    forest = FORESTS[task][kind](n_estimators=40, oob_score=True, random_state=0, **params).fit(X, y, weight)
    if task == "regression":
        expected = r2_score(y, forest.oob_prediction_, sample_weight=weight)
    else:
        expected = accuracy_score(y, forest.oob_decision_function_.argmax(axis=1), sample_weight=weight)
    assert_allclose(forest.oob_score_, expected)


@pytest.mark.parametrize("task", FORESTS)
def test_intervals_and_sets_are_those_of_the_table_without_the_rows_of_no_weight(task):
    X, y, weight = spoiled(task)
    make = partial(FORESTS[task][0], 60, oob_score=True, random_state=0)
    forest, clean = (make().fit(X, target, weight) for target in (y, clean_labels(task)))
    method = "predict_interval" if task == "regression" else "predict_set"
    assert_array_equal(getattr(forest, method)(X), getattr(clean, method)(X))
    if task == "regression":
        without = make().fit(X[weight > 0], y[weight > 0])
        widths = [np.diff(f.predict_interval(X), axis=1).mean() for f in (forest, without)]
        assert_allclose(widths[0], widths[1], rtol=0.2)


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("regression", {"preset": "best", "n_estimators": 60}),
        ("regression", {"n_stages": 2, "n_estimators": 60}),
        ("regression", {"n_estimators": "auto"}),
        ("binary", {"preset": "best", "n_estimators": 60}),
        ("multiclass", {"calibrate": "isotonic", "n_estimators": 40}),
        ("binary", {"calibrate": "temperature", "n_estimators": 40}),
    ],
    ids=str,
)
def test_rows_without_weight_decide_nothing(task, settings):
    X, y, weight = spoiled(task, n=140, n_bad=40)
    if task == "regression":
        y[-1] = 1e200  # its squared error is infinite: times no weight that must be nothing
    kind = FORESTS[task][0]
    forest = kind(**settings, random_state=0).fit(X, y, weight)
    clean = kind(**settings, random_state=0).fit(X, clean_labels(task, n=140), weight)
    assert forest.stages_ == clean.stages_ and forest.calibration_.factor == clean.calibration_.factor
    assert_array_equal(forest.oob_losses_, clean.oob_losses_)
    assert getattr(forest, "pool_report_", None) == getattr(clean, "pool_report_", None)
    assert_array_equal(output(forest, X), output(clean, X))


def test_calibration_believes_few_rows_as_little_as_if_the_others_were_not_there():
    y = np.arange(60) % 2
    objective = Objective(Logistic(np.arange(2)), y.astype(float), np.r_[np.ones(30), np.zeros(30)])
    rows = np.ones(60, dtype=bool)
    assert objective.n_rows(objective.counted(rows)) == 30
    assert Objective(Logistic(np.arange(2)), y.astype(float)).n_rows(rows) == 60


def test_an_objective_without_any_weighted_row_says_so():
    objective = Objective(SquaredError(), np.zeros(4), np.array([1.0, 1.0, 0.0, 0.0]))
    assert np.isnan(objective.average(np.ones(4), np.array([False, False, True, True])))
    assert objective.average(np.array([1, 2, np.inf, np.nan]), np.ones(4, dtype=bool)) == 1.5


# ----------------------------------------------------------------------------------------------------- limits of errors


def test_effective_rows_are_kishs():
    assert effective_rows(np.full(7, 0.3)) == pytest.approx(7)
    assert effective_rows(np.array([1e200, 1e200, 1e-200])) == pytest.approx(2)
    assert effective_rows(np.array([1.0, 1, 1, 3])) == pytest.approx(36 / 12)


@pytest.mark.parametrize("coverage", [0.3, 0.5, 0.75, 0.8, 0.9])
def test_weighted_limits_are_those_of_repeated_rows_and_a_new_one(coverage):
    # The new row counts Σ w² / Σ w = 2 rows here, its error may be anything.
    rng = np.random.default_rng(0)
    weight = np.tile([1, 1, 1, 3], 6)
    errors = rng.exponential(size=(5, len(weight)))
    repeated = np.hstack([errors.repeat(weight, axis=1), np.full((5, 2), np.inf)])
    expected = np.sort(repeated, axis=1)[:, int(np.ceil(coverage * repeated.shape[1] - 1e-9)) - 1]
    assert_array_equal(limits(errors, weight.astype(float), coverage), expected)


@pytest.mark.parametrize("n", [1, 9, 10, 99])
def test_equal_weights_are_no_weights(n):
    errors = np.random.default_rng(n).exponential(size=(3, n))
    for coverage in (0.1, 0.5, 0.9, 0.95, 0.99):
        assert_array_equal(limits(errors, np.full(n, 0.7), coverage), limits(errors, None, coverage))
    weight = np.where(np.arange(n) % 3 == 0, 0.0, 0.7)
    rows, own = weighted_rows(np.ones(n, dtype=bool), weight)
    assert own is None and not (rows % 3 == 0).any()


def test_of_a_large_table_rows_are_kept_by_their_weight():
    rows = np.arange(10_000)
    assert_array_equal(thin_out(rows, None, 100)[0], np.linspace(0, 9999, 100).astype(int))
    heavy = np.random.default_rng(0).permutation(10_000) < 100
    weight = np.where(heavy, 1000.0, 1.0)  # 100 heavy rows have 91 % of the weight
    kept, own = thin_out(rows, weight, 500)
    assert len(kept) <= 500 and own.sum() == 500
    assert own[heavy[kept]].sum() == pytest.approx(500 * 1e5 / (1e5 + 9900), abs=10)
    assert effective_rows(own) > 80


def test_weighted_intervals_hold_the_targets_of_the_weighted_population():
    # Noisy rows are half of the table and a tenth of the weight: unweighted intervals would be far too wide.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2400, 2))
    noisy = rng.random(2400) < 0.5
    y = X[:, 0] + np.where(noisy, 3.0, 0.3) * rng.normal(size=2400)
    weight = np.where(noisy, 1 / 9, 1.0)
    train, test = slice(800), slice(800, None)
    settings = {"n_estimators": 100, "oob_score": True, "max_samples": 0.5, "random_state": 0}
    forest = BoostForestRegressor(**({"preset": "paper"} | settings)).fit(X[train], y[train], weight[train])
    plain = BoostForestRegressor(**({"preset": "paper"} | settings)).fit(X[train], y[train])
    for coverage in (0.8, 0.9):
        lower, upper = forest.predict_interval(X[test], coverage=coverage).T
        inside = (lower <= y[test]) & (y[test] <= upper)
        assert abs(np.average(inside, weights=weight[test]) - coverage) < 0.04
        assert (upper - lower).mean() < np.diff(plain.predict_interval(X[test], coverage=coverage)).mean() / 2


def test_weighted_sets_hold_the_classes_of_the_weighted_population():
    X, y = make_classification(2400, n_informative=5, n_classes=3, flip_y=0, random_state=0)
    rng = np.random.default_rng(0)
    random = rng.random(2400) < 0.5
    y = np.where(random, rng.integers(0, 3, 2400), y)
    weight = np.where(random, 0.1, 1.0)
    forest = paper_classifier(60, oob_score=True).fit(X[:900], y[:900], weight[:900])
    sets = forest.predict_set(X[900:], coverage=0.9)
    inside = sets[np.arange(1500), y[900:]]
    assert abs(np.average(inside, weights=weight[900:]) - 0.9) < 0.04


def test_too_few_weighted_rows_give_infinite_intervals_and_the_warning_counts_them():
    X, y = example_data("regression", n=200)
    weight = np.r_[np.full(4, 1000.0), np.ones(196)]
    forest = paper_regressor(60, oob_score=True, max_samples=5, min_samples_leaf=1).fit(X, y, weight)
    with pytest.warns(UserWarning, match=r"needs at least 9 training rows .* that count as 4\.\d+ by their weights"):
        assert np.isinf(forest.predict_interval(X[:2], coverage=0.9)).all()


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_files_keep_the_weights_of_intervals_and_sets(task, tmp_path):
    X, y = example_data(task)
    weight = np.random.default_rng(0).uniform(0.1, 3, size=len(y))
    forest = FORESTS[task][0](40, oob_score=True, random_state=0)
    paths = [tmp_path / name for name in ("weighted", "equal", "plain")]
    for path, w in zip(paths, (weight, np.full(len(y), 2.0), None), strict=True):
        forest.fit(X, y, w).save_model(path)
        loaded = load_model(path)
        method = "predict_interval" if task == "regression" else "predict_set"
        assert_array_equal(getattr(loaded, method)(X, 0.8), getattr(forest, method)(X, 0.8))
    name = b'"residual_weight"' if task == "regression" else b'"conformity_weight"'
    assert [name in path.read_bytes() for path in paths] == [True, False, False]


# -------------------------------------------------------------------------------------------------------------- scorers

REGRESSION_SCORES = {
    "neg_mean_absolute_error": lambda y, p, w: -mean_absolute_error(y, p, sample_weight=w),
    make_scorer(mean_squared_error, greater_is_better=False): lambda y, p, w: (
        -mean_squared_error(y, p, sample_weight=w)
    ),
    mean_absolute_error: lambda y, p, w: mean_absolute_error(y, p, sample_weight=w),
    "neg_max_error": lambda y, p, w: -max_error(y, p),
    max_error: lambda y, p, w: max_error(y, p),
    (lambda y_true, y_pred: len(y_true) + 0.5): lambda y, p, w: len(y) + 0.5,
    (lambda estimator, X, y: estimator.predict(X).sum()): lambda y, p, w: p.sum(),
}
PROBABILITY_SCORES = {
    "neg_log_loss": lambda y, p, w: -log_loss(y, p, sample_weight=w),
    make_scorer(log_loss, response_method="predict_proba"): lambda y, p, w: log_loss(y, p, sample_weight=w),
    log_loss: lambda y, p, w: log_loss(y, p, sample_weight=w),
    "accuracy": lambda y, p, w: accuracy_score(y, p.argmax(axis=1), sample_weight=w),
}
BINARY_SCORES = {
    "roc_auc": lambda y, p, w: roc_auc_score(y, p[:, 1], sample_weight=w),
    roc_auc_score: lambda y, p, w: roc_auc_score(y, p[:, 1], sample_weight=w),
    average_precision_score: lambda y, p, w: average_precision_score(y, p[:, 1], sample_weight=w),
    brier_score_loss: lambda y, p, w: brier_score_loss(y, p[:, 1], sample_weight=w),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [0, 1], ids=["BoostForest", "PoolForest"])
@pytest.mark.parametrize("task", FORESTS)
def test_oob_score_takes_scorers_by_name_and_as_objects_and_metrics(task, kind, weighted):
    X, y = example_data(task, n=80)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=len(y)) if weighted else None
    counted = np.ones(len(y), dtype=bool) if weight is None else weight > 0
    own = None if weight is None else weight[counted]
    scores = REGRESSION_SCORES if task == "regression" else PROBABILITY_SCORES
    scores = scores | BINARY_SCORES if task == "binary" else scores
    for how, expected in scores.items():
        forest = FORESTS[task][kind](n_estimators=30, max_samples=0.4, oob_score=how, random_state=0).fit(X, y, weight)
        out = out_of_bag(forest)
        assert_allclose(forest.oob_score_, expected(y[counted], out[counted], own), err_msg=str(how))


def test_scorers_know_text_labels():
    X, y = example_data("binary", n=80)
    labels = np.array(["no", "yes"])[y.astype(int)]
    by_name = paper_classifier(30, oob_score="roc_auc").fit(X, labels)
    assert by_name.oob_score_ == roc_auc_score(labels, by_name.oob_decision_function_[:, 1])


@pytest.mark.parametrize("cls", [BoostForestClassifier, PoolForestClassifier])
@pytest.mark.parametrize("bad", ["brilliant", "", 3, None, ["accuracy"]])
def test_an_oob_score_that_is_none_is_refused(cls, bad):
    X, y = example_data("binary", n=40)
    with pytest.raises(ValueError, match=r"oob_score must be True, False, the name of a scorer .*; got"):
        cls(n_estimators=5, oob_score=bad).fit(X, y)


def test_a_scorer_that_cannot_be_computed_says_so_and_leaves_nothing_behind():
    X, y = example_data("multiclass", n=80)
    forest = paper_classifier(30, oob_score="roc_auc")
    with pytest.raises(ValueError, match="oob_score could not be computed from out-of-bag predictions"):
        forest.fit(X, y)
    assert not hasattr(forest, "forest_")
    assert forest.set_params(oob_score="roc_auc_ovr").fit(X, y).oob_score_ > 0.5


def test_files_keep_the_name_of_a_scorer(reloaded):
    X, y = example_data("binary", n=80)
    forest = paper_classifier(30, oob_score="neg_log_loss").fit(X, y)
    loaded = reloaded(forest)
    assert loaded.oob_score == "neg_log_loss" and loaded.oob_score_ == forest.oob_score_ < 0


def test_every_scorer_of_scikit_learn_can_be_told_from_a_metric():
    for name in ("accuracy", "neg_log_loss", "r2", "roc_auc", "neg_max_error"):
        X, y = example_data("regression" if name in ("r2", "neg_max_error") else "binary", n=60)
        kind = BoostForestRegressor if name in ("r2", "neg_max_error") else BoostForestClassifier
        by_name, by_object = (kind(30, oob_score=how, random_state=0).fit(X, y) for how in (name, get_scorer(name)))
        assert by_name.oob_score_ == by_object.oob_score_


# ---------------------------------------------------------------------------------------------------------------- draws


@pytest.mark.parametrize("cls", [BoostForestRegressor, PoolForestRegressor])
def test_a_share_of_max_samples_counts_rows_whatever_they_weigh(cls):
    X, y = example_data("regression", n=60)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=60)
    seen = []
    for factor in (1 / weight.sum(), 1.0, 1e12):
        forest = cls(n_estimators=3, max_samples=0.5, random_state=0).fit(X, y, factor * weight)
        seen.append(forest._sampling.n_draws if cls is PoolForestRegressor else forest._model.draws[2])
        if cls is PoolForestRegressor:
            assert [len(rows) for rows in forest.estimators_samples_] == [30] * 3
    assert seen == [30, 30, 30]


@pytest.mark.parametrize("cls", [BoostForestRegressor, PoolForestRegressor])
@pytest.mark.parametrize("n", [2**31, 10**30])
def test_more_draws_than_can_be_counted_are_refused(cls, n):
    X, y = example_data("regression", n=40)
    with pytest.raises(ValueError, match=f"max_samples must be .* from 1 to 2147483647 .*; got {n}"):
        cls(n_estimators=3, max_samples=n).fit(X, y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("what", ["fit", "bootstrap_counts"])
def test_ctrl_c_is_seen_inside_of_long_draws(what, weighted):
    X, y = example_data("regression", n=40)
    weight = np.linspace(1, 2, 40) if weighted else None
    if what == "fit":
        forest = paper_regressor(2, max_samples=2**31 - 1)
        draw = lambda: forest.fit(X, y, weight)  # noqa: E731
    else:
        draw = lambda: _core.bootstrap_counts(0, 40, 2**31 - 1, np.cumsum(weight) if weighted else None)  # noqa: E731
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    try:
        timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            draw()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "cls", [BoostForestRegressor, PoolForestRegressor, BoostForestClassifier, PoolForestClassifier]
)
def test_n_jobs_that_no_machine_has_is_named(cls):
    X, y = example_data("binary", n=40)
    with pytest.raises(ValueError, match="n_jobs must be below 2\\*\\*31, and -1 stands for all cores; got 2147483648"):
        cls(n_estimators=3, n_jobs=2**31).fit(X, y)


# -------------------------------------------------------------------------------------------------- the unit of weights


def test_weights_without_a_unit_have_a_mean_of_one_row_and_others_count_rows():
    assert_array_equal(weight_in_rows(np.array([0.0, 1, 2, 3, 7])), [0, 1, 2, 3, 7])
    assert_array_equal(weight_in_rows(np.array([0.0, 1, 2, 3, 7]) / 13), [0, 1, 2, 3, 7])
    assert_array_equal(weight_in_rows(np.array([0.0, 1, 2, 3, 7]) * 1e300), [0, 1, 2, 3, 7])
    assert_array_equal(weight_in_rows(np.full(5, 1e-9)), np.ones(5))
    assert_allclose(weight_in_rows(np.array([0.0, 1, 2.5, 2.5])), [0, 0.5, 1.25, 1.25])
    many = weight_in_rows(np.random.default_rng(0).exponential(size=1000))
    assert_allclose(many.mean(), 1)
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        assert_allclose(weight_in_rows(np.array([1e-200, 1e100, 1.3e100])).sum(), 3)


@pytest.mark.parametrize("whole", [True, False], ids=["multiples", "any"])
@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize("forest", [False, True], ids=["tree", "bootstrap=False"])
def test_the_unit_of_weights_changes_nothing(task, forest, whole):
    X, y = example_data(task, n=150)
    rng = np.random.default_rng(0)
    weight = rng.choice([0.0, 1.0, 2.0, 3.0], size=len(y)) if whole else rng.uniform(0, 2, size=len(y))
    tree = TREES[task]
    outputs = []
    for factor in (1.0, 1 / weight.sum(), 1e6):
        make = FORESTS[task][0](4, bootstrap=False, random_state=0) if forest else tree(random_state=0)
        model = make.fit(X, y, factor * weight)
        assert model.n_leaves_.min() > 1
        outputs.append(output(model, X))
    assert_allclose(outputs[1], outputs[0], rtol=1e-8, atol=1e-10)
    assert_allclose(outputs[2], outputs[0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("task", ["regression", "multiclass"])
def test_whole_weights_count_repeated_rows(task):
    X, y = example_data(task, n=80)
    weight = np.random.default_rng(0).choice([0, 1, 2, 3], size=len(y))
    tree = TREES[task]
    expected = tree(random_state=0).fit(X.repeat(weight, axis=0), y.repeat(weight))
    for factor in (1, 5, 0.01):
        weighted = tree(random_state=0).fit(X, y, factor * weight)
        assert_array_equal(weighted.n_nodes_, expected.n_nodes_)
        assert_allclose(output(weighted, X), output(expected, X), rtol=1e-8, atol=1e-10)


def test_a_tree_too_small_to_split_is_still_named():
    X, y = example_data("regression", n=15)
    with pytest.warns(UserWarning, match=r"needs at least 20 rows to split \(weights count\), got 15"):
        BoostTreeRegressor(random_state=0).fit(X, y, np.full(15, 100.0))


def test_absurd_values_without_weight_leave_means_and_deviations_alone():
    X, y = example_data("regression", n=60)
    weight = np.ones(60)
    weight[-1] = 0
    wild = X.copy()
    wild[-1] = 1e200
    tree = BoostTreeRegressor(random_state=0).fit(wild, np.r_[y[:-1], 1e200], weight)
    clean = BoostTreeRegressor(random_state=0).fit(X[:-1], y[:-1])
    assert_allclose(tree.predict(X), clean.predict(X), rtol=1e-9)


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_pool_forests_without_bootstrap_hand_weights_on_as_they_are(task):
    X, y = example_data(task, n=60)
    weight = np.random.default_rng(0).uniform(0.1, 1, size=60)
    member = DecisionTreeRegressor(max_depth=2) if task == "regression" else DecisionTreeClassifier(max_depth=2)
    forest = FORESTS[task][1](member, 2, bootstrap=False, random_state=0).fit(X, y, weight)
    assert forest.estimators_[0].tree_.weighted_n_node_samples[0] == pytest.approx(weight.sum())


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (np.ones(2), r"'residual_weight' must have the shape \(3,\); got \(2,\)"),
        (np.array([1.0, 0, 1]), "'residual_weight' must hold values above zero"),
        (np.array([1.0, np.inf, 1]), "not finite"),
        (np.ones(3, dtype=np.float32), "'residual_weight' must be float64; got float32"),
    ],
    ids=str,
)
def test_weights_of_a_file_are_checked(weight, match, tmp_path):
    regressor, classifier = (
        next(path for path in GOLDEN if path.stem == f"v1-forest-{kind}").read_bytes()
        for kind in ("regressor", "binary")
    )
    path = tmp_path / "a"
    rows = {"residuals": np.ones(3), "absent": np.zeros((3, 1), dtype=np.uint8)}
    path.write_bytes(with_tensors(regressor, **rows))
    load_model(path)
    path.write_bytes(with_tensors(regressor, **rows, residual_weight=weight))
    with pytest.raises(ValueError, match=match):
        load_model(path)
    path.write_bytes(with_tensors(classifier, conformity_weight=np.ones(3)))
    with pytest.raises(ValueError, match="tensors are missing: conformity"):
        load_model(path)
    for n in (0, 1):
        path.write_bytes(with_tensors(classifier, conformity=np.ones(n), conformity_weight=np.zeros(n)))
        with pytest.raises(ValueError, match="'conformity_weight' must hold values above zero"):
            load_model(path)
