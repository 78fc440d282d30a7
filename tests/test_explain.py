"""Contributions of columns: interventional values against all coalitions, and what they promise."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from boostforest import BoostTreeClassifier, BoostTreeRegressor, load_model
from coalitions import game, interaction, shapley
from models import on_every_instruction_set, paper_classifier, paper_regressor

DATA = Path(__file__).parent / "data"
N = 160


def table(n_columns=5, seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    X[:, 3] = X[:, 3] > 0  # rows of the background often have the same value
    y = 2 * X[:, 0] + np.sin(3 * X[:, 1]) * 2 + X[:, 2] * X[:, 3] + rng.normal(size=n) * 0.3
    return X, y


X, y = table()


def classes(y, n):
    return np.searchsorted(np.quantile(y, np.arange(1, n) / n), y)


def compare(explanation, outputs, rows, others, rtol=1e-9):
    """Check values against the mean over the background of the Shapley values of ``outputs``."""
    values = np.stack([shapley(game(outputs, row, others)).mean(axis=0) for row in np.asarray(rows)])
    np.testing.assert_allclose(
        explanation.values.reshape(values.shape), values, rtol=0, atol=rtol * np.abs(values).max()
    )
    assert not explanation.noise.any()


REGRESSORS = {
    "clipped": {},
    "unclipped": {"clip": False},
    "constant": {"node_model": "constant"},
    "svr": {"node_model": "svr"},
    "stages": {"n_stages": 2, "n_estimators": 40},
    "single precision": {"dtype": "float32"},
    "half precision": {"dtype": "float16"},
    "roles": {"split_features": [0, 1], "model_features": [1, 2, 4]},
    "constraints": {"monotonic_cst": [1, 0, 0, 0, -1]},
    "hidden layers": {"node_model": "elm"},
    "not scaled": {"scale": False},
}


@pytest.mark.parametrize("settings", REGRESSORS.values(), ids=REGRESSORS)
def test_values_of_a_regressor_are_those_of_all_coalitions(settings):
    forest = paper_regressor(**{"n_estimators": 6} | settings).fit(X, y)
    explanation = forest.explain(X[:4], X[20:30])
    compare(explanation, forest.predict, X[:4], X[20:30])
    np.testing.assert_array_equal(explanation.values, forest.explain(X[:4], X[20:30], output="score").values)


@pytest.mark.parametrize(("n_columns", "n_background"), [(1, 3), (2, 140), (7, 30), (10, 9)])
def test_few_columns_have_the_values_of_all_coalitions(n_columns, n_background):
    X, y = table(max(n_columns, 5), n=2 * N)
    X, others = X[:, :n_columns], X[20 : 20 + n_background, :n_columns]
    forest = paper_regressor(3).fit(X, y)
    compare(forest.explain(X[:2], others), forest.predict, X[:2], others)


@pytest.mark.parametrize("settings", [{}, {"node_model": "constant"}, {"node_model": "elm"}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_values_of_a_classifier_are_those_of_all_coalitions(n_classes, settings):
    forest = paper_classifier(4, **settings).fit(X, classes(y, n_classes))
    explanation = forest.explain(X[:3], X[20:26])
    assert explanation.values.shape == (3, 5, n_classes)
    compare(explanation, forest.predict_proba, X[:3], X[20:26])
    tree = BoostTreeClassifier(random_state=0, **settings).fit(X, classes(y, n_classes))
    compare(tree.explain(X[:3], X[20:26], output="score"), tree.decision_function, X[:3], X[20:26])


@pytest.mark.parametrize("settings", [{}, {"clip": False, "node_model": "constant"}], ids=str)
def test_values_under_a_log_link_are_those_of_all_coalitions(settings):
    counts = np.random.default_rng(0).poisson(np.exp(y / 4))
    forest = paper_regressor(4, loss="poisson", **settings).fit(X, counts)
    compare(forest.explain(X[:3], X[20:26]), forest.predict, X[:3], X[20:26])
    stages = paper_regressor(40, loss="poisson", n_stages=2, **settings).fit(X, counts)
    for explanation in (stages.explain(X[:3], X[20:26]), stages.explain(X[:3], X[20:26], output="score")):
        assert explanation.values.any()
    sums = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(np.exp(sums), stages.predict(X[:3]), rtol=1e-9)


def test_monotone_values_of_a_classifier_are_those_of_all_coalitions():
    forest = paper_classifier(4, monotonic_cst=[1, 0, 0, 0, 0]).fit(X, classes(y, 2))
    compare(forest.explain(X[:3], X[20:26]), forest.predict_proba, X[:3], X[20:26])


@pytest.mark.parametrize("max_one_hot", [10, 1])
def test_the_features_of_a_category_move_together(max_one_hot):
    X, y = table()
    X = X.astype(object)
    X[:, 3] = np.array(["a", "b", "c", "d"], dtype=object)[np.arange(N) % 4]
    X[::7, 0] = None
    y = y + (np.arange(N) % 4 == 1)
    settings = {
        "categorical_features": [3],
        "missing_indicator": True,
        "missing_fill": "mean",
        "max_one_hot": max_one_hot,
    }
    forest = paper_regressor(6, **settings).fit(X, y)
    compare(forest.explain(X[:8], X[20:30]), forest.predict, X[:8], X[20:30])
    classifier = paper_classifier(4, **settings).fit(X, classes(y, 3))
    compare(classifier.explain(X[:3], X[20:26]), classifier.predict_proba, X[:3], X[20:26])


def scores_of_trees(model, routed, filled):
    """Return the mean score of clipped regression trees, given features for splits and for node models."""
    forest, linear = model.columns, model.columns.linear_models()[:, 0]
    total = np.zeros(len(routed))
    for tree, start in enumerate(forest.tree_start[:-1]):
        assert forest.sum_path[tree]
        for i in range(len(routed)):
            node = start
            while True:
                if node > start or forest.feature[node] < 0:
                    score = linear[node, 0] + linear[node, 1:] @ filled[i]
                    total[i] += np.clip(score, forest.lower[node], forest.upper[node])
                feature = forest.feature[node]
                if feature < 0:
                    break
                value = routed[i, feature]
                left = forest.missing_left[node] if np.isnan(value) else value <= forest.threshold[node]
                node = start + forest.left[node] + (0 if left else 1)
    return total / forest.n_trees


def test_missing_values_are_filled_before_rows_are_mixed():
    X, y = table(4)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    forest = paper_regressor(3, missing_fill="linear").fit(X, y)
    model, f = forest._model, forest._model.features
    assert f.fill is not None
    rows, others = X[:4], X[20:25]
    assert np.isnan(rows).any() and np.isnan(others).any()

    def fill(X):
        scaled = (X - f.mean) / f.scale
        centre, precision = f.fill[0], f.fill[1:]
        for row in scaled:
            gaps = np.isnan(row)
            if gaps.any():
                distance = row[~gaps] - centre[~gaps]
                row[gaps] = centre[gaps] - np.linalg.solve(
                    precision[np.ix_(gaps, gaps)], precision[np.ix_(gaps, ~gaps)] @ distance
                )
        return scaled

    routed = np.stack([(rows - f.mean) / f.scale, fill(rows)], axis=2)  # pairs: a column brings both
    background = np.stack([(others - f.mean) / f.scale, fill(others)], axis=2)
    explanation = forest.explain(rows, others)
    for i in range(len(rows)):
        sets = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(bool)
        mixed = np.where(sets[None, :, :, None], routed[i], background[:, None]).reshape(-1, 4, 2)
        values = scores_of_trees(model, mixed[..., 0], mixed[..., 1]).reshape(len(others), 16, 1)
        expected = shapley(values).mean(axis=0)[:, 0] * forest.target_scale_
        np.testing.assert_allclose(explanation.values[i], expected, atol=1e-12)


def every_output():
    X, y = table(8, n=240)
    X[::5, 1] = np.nan
    for name, settings in REGRESSORS.items():
        if "roles" not in name:
            cst = {"monotonic_cst": [1] + [0] * 7} if "monotonic_cst" in settings else {}
            yield (
                paper_regressor(**{"n_estimators": 8} | settings | cst).fit(X, y),
                X,
                ("prediction", "score"),
            )
    outputs = ("prediction", "score", "probability")
    for n_classes in (2, 3):
        labels = classes(y, n_classes)
        for settings in (
            {},
            {"n_stages": 2},
            {"calibrate": "temperature"},
            {"n_stages": 2, "calibrate": "temperature"},
        ):
            yield paper_classifier(40, **settings).fit(X, labels), X, outputs
        yield BoostTreeClassifier(random_state=0).fit(X, labels), X, outputs
    yield (
        paper_classifier(40, calibrate="isotonic").fit(X, classes(y, 2)),
        X,
        outputs,
    )


@pytest.mark.parametrize("algorithm", ["interventional", "path"])
def test_values_and_base_add_up_to_the_output(algorithm):
    for model, X, outputs in every_output():
        if algorithm == "path" and (model.monotonic_cst is not None or model.node_model == "elm"):
            continue
        for output in outputs:
            explanation = model.explain(X[:6], X[50:70], output=output, algorithm=algorithm)
            if output == "score" and hasattr(model, "decision_function"):
                seen = model.decision_function(X[:6])
            else:
                seen = model.predict_proba(X[:6]) if hasattr(model, "predict_proba") else model.predict(X[:6])
            total = explanation.values.sum(axis=1) + explanation.base_values
            np.testing.assert_allclose(total, seen, rtol=1e-9, atol=1e-9 * np.abs(seen).max())


def secant(function, start, end):
    middle, step = (start + end) / 2, 1e-5
    near = np.abs(end - start) < 1e-7
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = (function(end) - function(start)) / (end - start)
    return np.where(near, (function(middle + step) - function(middle - step)) / (2 * step), slope)


@pytest.mark.parametrize("output", ["probability", "score"])
@pytest.mark.parametrize("settings", [{}, {"n_stages": 2}, {"calibrate": "isotonic"}], ids=str)
def test_two_classes_are_rescaled_for_each_background_row(settings, output):
    forest = paper_classifier(40, **settings).fit(X, classes(y, 2))
    model, rows, others = forest._model, X[:3], X[20:30]
    end = model.stages.ends[0]
    first = lambda X: model.sums(X, 1, False, slice(0, end)) / end  # noqa: E731
    explanation = forest.explain(rows, others, output=output)
    for i, row in enumerate(rows):
        mean = game(first, row, others)[..., 0]
        slope = secant(
            lambda p: np.log(np.clip(p, 1e-3, 1 - 1e-3) / (1 - np.clip(p, 1e-3, 1 - 1e-3))), mean[:, 0], mean[:, -1]
        )
        scores = slope[:, None] * shapley(mean[..., None])[..., 0]
        for (a, b), step in zip(model.stages.parts[1:], model.stages.steps[1:], strict=True):
            later = game(lambda X, a=a, b=b: model.sums(X, 1, True, slice(a, b)) / (b - a), row, others)
            scores = scores + step * shapley(later)[..., 0]
        seen = forest.decision_function if output == "score" else lambda X: forest.predict_proba(X)[:, 1]
        change = seen(row[None]) - seen(others)
        expected = (scores * (change / scores.sum(axis=1))[:, None]).mean(axis=0)
        own = explanation.values[i] if output == "score" else explanation.values[i, :, 1]
        np.testing.assert_allclose(own, expected, atol=1e-9 * np.abs(expected).max())


def test_scores_of_many_classes_follow_the_logarithms_of_probabilities():
    forest = paper_classifier(8).fit(X, classes(y, 3))
    explanation = forest.explain(X[:2], X[20:24], output="score")
    for i in range(2):
        p = game(forest.predict_proba, X[i], X[20:24])
        slope = (np.log(p[:, -1]) - np.log(p[:, 0])) / (p[:, -1] - p[:, 0])
        expected = (shapley(p) * slope[:, None]).mean(axis=0)
        np.testing.assert_allclose(explanation.values[i], expected, atol=1e-9)


def test_probabilities_of_many_classes_follow_the_scores_along_a_line():
    forest = paper_classifier(40, n_stages=2, calibrate="temperature").fit(X, classes(y, 3))
    model, row, others = forest._model, X[0], X[20:22]
    (_, end), (a, b) = model.stages.parts
    logs = lambda p: np.log(np.maximum(p, 1e-3))  # noqa: E731
    mean = game(lambda X: model.sums(X, 1, False, slice(0, end)) / end, row, others)
    first = shapley(mean) * ((logs(mean[:, -1]) - logs(mean[:, 0])) / (mean[:, -1] - mean[:, 0]))[:, None]
    later = shapley(game(lambda X: model.sums(X, 1, True, slice(a, b)) / (b - a), row, others))
    scores = first - first.mean(axis=2, keepdims=True) + model.stages.steps[1] * later
    scores *= model.calibration.factor
    expected = 0
    for own, other in zip(scores, np.log(forest.predict_proba(others)), strict=True):
        t = (np.arange(20_000) + 0.5) / 20_000
        p = np.exp(other + t[:, None] * own.sum(axis=0))
        p /= p.sum(axis=1, keepdims=True)
        weights = p.mean(axis=0)  # of the scores in the logarithm of the sum of their powers
        follow = own - (own @ weights)[:, None]
        p_row, p_other = forest.predict_proba(row[None])[0], np.exp(other)
        expected = expected + follow * (p_row - p_other) / (np.log(p_row) - other) / len(others)
    np.testing.assert_allclose(forest.explain(row[None], others).values[0], expected, atol=1e-8)


def test_a_forest_without_splits_has_the_values_of_a_linear_model():
    with pytest.warns(UserWarning, match="min_samples_leaf"):
        forest = paper_regressor(3, min_samples_leaf=N, clip=False).fit(X, y)
    assert (forest.n_nodes_ == 1).all()
    slopes = np.array([forest.predict(row[None])[0] for row in np.eye(5)]) - forest.predict(np.zeros((1, 5)))
    expected = slopes * (X[:9] - X[50:90].mean(axis=0))
    np.testing.assert_allclose(forest.explain(X[:9], X[50:90]).values, expected, atol=1e-12)
    np.testing.assert_allclose(forest.explain(X[:9], X[50:90], algorithm="path").values, expected, atol=1e-12)


def test_an_unused_column_contributes_exactly_nothing():
    X, y = table()
    for algorithm in ("interventional", "path"):
        forest = paper_regressor(8, split_features=[0, 1], model_features=[0, 3]).fit(X, y)
        values = forest.explain(X[:9], algorithm=algorithm).values
        assert (values[:, [2, 4]] == 0).all() and (values[:, [0, 1, 3]] != 0).any(axis=0).all()
    X[:, 2] = 1.5
    forest = paper_classifier(8, node_model=["ridge", "elm"]).fit(X, classes(y, 3))
    assert (forest.explain(X[:9]).values[:, 2] == 0).all()


@pytest.mark.usefixtures("kernels")
def test_unused_columns_among_ten_contribute_exactly_nothing():
    """Scores of coalitions with and without such a column are the same sums, in the same order."""
    X, y = table(10)
    used = [0, 1, 2, 3, 4, 6, 8]
    forest = paper_regressor(8, split_features=used, model_features=used).fit(X, y)
    values = forest.explain(X[:9], X[20:60]).values
    assert (values[:, [5, 7, 9]] == 0).all() and (values[:, used] != 0).any(axis=0).all()


def test_values_do_not_depend_on_threads_nor_on_other_rows():
    X, y = table(14)  # enough columns for samples
    for forest in (
        paper_regressor(6).fit(X, y),
        paper_regressor(3, node_model="elm").fit(X, y),
        paper_classifier(40, n_stages=2).fit(X, classes(y, 3)),
    ):
        one = forest.set_params(n_jobs=1).explain(X[:12])
        many = forest.set_params(n_jobs=8).explain(X[:12])
        assert one.noise.any()
        for name in ("values", "noise", "base_values"):
            np.testing.assert_array_equal(getattr(one, name), getattr(many, name))
        np.testing.assert_array_equal(forest.explain(X[5:7]).values, one.values[5:7])
        path = forest.explain(X[:12], algorithm="path").values if forest.node_model != "elm" else None
        if path is not None:
            np.testing.assert_array_equal(forest.set_params(n_jobs=1).explain(X[:12], algorithm="path").values, path)


@pytest.mark.parametrize("settings", [{}, {"node_model": "elm"}], ids=str)
def test_sampled_values_are_as_near_as_their_noise_says(settings):
    X, y = table(12)
    forest = paper_regressor(3, **settings).fit(X, y)
    explanation = forest.explain(X[:3], X[20:30])
    values = np.stack([shapley(game(forest.predict, row, X[20:30])).mean(axis=0)[:, 0] for row in X[:3]])
    error = np.abs(explanation.values - values)
    assert explanation.noise.any()
    assert (error <= 5 * explanation.noise + 1e-9).all()
    assert explanation.noise.max() < 0.1 * np.abs(values).max()
    np.testing.assert_allclose(explanation.values.sum(axis=1), values.sum(axis=1), rtol=1e-9)


def many_columns():
    """Twelve columns: one has categories, one missing values."""
    X, y = table(12)
    X = X.astype(object)
    X[:, 3] = np.array(["a", "b", "c"], dtype=object)[np.arange(N) % 3]
    X[::7, 0] = None
    return X, y


@pytest.mark.parametrize(
    "settings",
    [
        {"categorical_features": [3], "missing_indicator": True, "missing_fill": "mean"},
        {"categorical_features": [3], "missing_fill": "mean", "clip": False},
        {"categorical_features": [3], "split_features": [0, 1, 3], "model_features": [2, 3, 5, 7, 8, 9, 11]},
    ],
    ids=str,
)
def test_values_of_many_columns_add_up_and_are_right_on_average(settings):
    X, y = many_columns()
    forest = paper_regressor(4, **settings).fit(X, y)
    rows, others = X[:3], X[21:27]
    explanation = forest.explain(rows, others)
    values = np.stack([shapley(game(forest.predict, row, others)).mean(axis=0)[:, 0] for row in rows])
    scale = np.abs(values).max()
    assert (np.abs(explanation.values - values) <= 5 * explanation.noise + 1e-9 * scale).all()
    total = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(total, forest.predict(rows), rtol=1e-9)
    if settings.get("clip") is False:
        assert not explanation.noise.any()


@pytest.mark.parametrize("n_columns", [5, 10, 12, 13, 17])
def test_values_are_the_same_on_every_instruction_set(n_columns):
    X, y = table(n_columns)
    forest = paper_regressor(3).fit(X, y)

    def explained():
        own = [forest.explain(X[:3], X[20:43], algorithm=how).values for how in ("interventional", "path")]
        return [*own, forest.effects(X, 0).average]

    first, *others = on_every_instruction_set(explained)
    for other in others:
        for values, expected in zip(other, first, strict=True):
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_interactions_are_those_of_all_coalitions():
    labels = classes(y, 2)
    forests = [
        (paper_regressor(5).fit(X, y), "predict"),
        (paper_regressor(5, clip=False).fit(X, y), "predict"),
        (paper_regressor(5, monotonic_cst=[1, 0, 0, 0, 0]).fit(X, y), "predict"),
        (paper_classifier(4).fit(X, labels), "predict_proba"),
        (paper_classifier(4).fit(X, classes(y, 3)), "predict_proba"),
    ]
    for forest, method in forests:
        explanation = forest.explain(X[:3], X[20:28], interactions=True)
        expected = np.stack([interaction(game(getattr(forest, method), row, X[20:28])).mean(axis=0) for row in X[:3]])
        np.testing.assert_allclose(
            explanation.values.reshape(expected.shape), expected, atol=1e-9 * np.abs(expected).max()
        )


def test_interactions_add_up_to_contributions():
    for forest in (
        paper_regressor(40, n_stages=2).fit(X, y),
        paper_classifier(40, n_stages=2).fit(X, classes(y, 2)),
        paper_classifier(40, calibrate="temperature").fit(X, classes(y, 3)),
    ):
        pairs, alone = forest.explain(X[:5], interactions=True), forest.explain(X[:5])
        np.testing.assert_allclose(
            pairs.values.sum(axis=2), alone.values, atol=1e-12 * np.abs(alone.values).max() + 1e-13
        )
        np.testing.assert_allclose(pairs.values, np.swapaxes(pairs.values, 1, 2), atol=1e-13)
        np.testing.assert_array_equal(pairs.base_values, alone.base_values)


def test_interactions_of_many_columns_need_no_enumeration_where_scores_are_linear():
    X, y = table(15)
    forest = paper_regressor(4, clip=False).fit(X, y)
    pairs = forest.explain(X[:3], X[20:30], interactions=True)
    np.testing.assert_allclose(pairs.values.sum(axis=2), forest.explain(X[:3], X[20:30]).values, atol=1e-12)


def test_the_background_is_drawn_by_seed_from_rows_with_weight(tmp_path):
    forest = paper_regressor(4).fit(X, y)
    again = paper_regressor(4).fit(X, y)
    rows = forest._model.known.background.table
    assert rows.shape == (100, 5) and (rows == again._model.known.background.table).all()
    np.testing.assert_array_equal(forest.explain(X[:3]).values, forest.explain(X[:3], rows).values)
    np.testing.assert_allclose(forest.explain(X[:3]).base_values, forest.predict(rows).mean())
    weight = np.zeros(N)
    weight[:40] = 1 + np.arange(40)
    weighted = paper_regressor(4).fit(X, y, weight)
    kept = weighted._model.known.background.table
    assert sorted(map(tuple, kept)) == sorted(map(tuple, X[:40]))
    assert copy.deepcopy(forest).explain(X[:3]).values.shape == (3, 5)
    assert forest.get_tree(0).explain(X[:3]).values.shape == (3, 5)


def test_no_file_and_no_pickle_holds_the_background(reloaded):
    forest = paper_regressor(4).fit(X, y)
    for loaded in (reloaded(forest), pickle.loads(pickle.dumps(forest))):
        with pytest.raises(ValueError, match="background is needed: a model that was loaded has no training rows"):
            loaded.explain(X[:3])
        np.testing.assert_array_equal(loaded.explain(X[:3], X[9:20]).values, forest.explain(X[:3], X[9:20]).values)


def test_frames_keep_their_names_and_values():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde")).assign(b=np.where(X[:, 1] > 0, "high", "low"))
    forest = paper_classifier(4).fit(frame, classes(y, 3))
    wider = frame.iloc[:2].assign(more=1)[["more", *"edcba"]]
    explanation = forest.explain(wider, frame.iloc[20:30])
    assert explanation.feature_names == list("abcde") and explanation.output_names == ["0", "1", "2"]
    assert list(explanation.data[0]) == list(frame.iloc[0])
    np.testing.assert_array_equal(explanation.values, forest.shap_values(frame.iloc[:2], frame.iloc[20:30]))
    long = explanation.to_frame()
    assert list(long.columns) == ["row", "output", "feature", "value", "contribution", "noise", "base"]
    assert len(long) == 2 * 5 * 3
    total = long[(long.row == 1) & (long.output == "2")]
    assert np.isclose(total.contribution.sum() + total.base.iloc[0], forest.predict_proba(frame.iloc[:2])[1, 2])
    assert "other" in forest.explain(wider, frame.iloc[20:30], interactions=True).to_frame()


def test_one_class_has_nothing_to_explain():
    X, _ = table()
    with pytest.warns(UserWarning, match="one class only"):
        forest = paper_classifier(3).fit(X, np.zeros(N))
    explanation = forest.explain(X[:2])
    assert explanation.values.shape == (2, 5, 1)
    assert not explanation.values.any() and (explanation.base_values == 1).all()


def test_progress_is_drawn_if_asked_for(capsys):
    forest = paper_classifier(40, n_stages=2).fit(X, classes(y, 2)).set_params(verbose=1)
    forest.explain(X[:4])
    assert "8/8 rows" in capsys.readouterr().err


def test_trees_and_forests_of_real_data_are_explained():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    for model in (
        BoostTreeRegressor(random_state=0).fit(X, y),
        paper_regressor(10).fit(X, y),
    ):
        explanation = model.explain(X.iloc[:5])
        np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, model.predict(X.iloc[:5]))
        assert repr(explanation) == "<Explanation: contributions, 5 × 10, of age, sex, bmi, …>"


@pytest.mark.parametrize("name", ["regressor", "binary"])
def test_boosted_stages_are_explained(name):
    forest = load_model(DATA / f"v3-boosted-{name}.safetensors")
    assert any(forest.stages_.boosted)
    X = np.random.default_rng(0).normal(size=(9, forest.n_features_in_))
    explanation = forest.explain(X[:3], X[3:])
    if name == "regressor":
        compare(explanation, forest.predict, X[:3], X[3:])
    seen = forest.predict(X[:3]) if name == "regressor" else forest.predict_proba(X[:3])
    for algorithm in ("interventional", "path"):
        explanation = forest.explain(X[:3], X[3:], algorithm=algorithm)
        np.testing.assert_allclose(
            explanation.values.sum(axis=1) + explanation.base_values, seen, rtol=1e-9, atol=1e-12
        )


def test_values_of_sure_classes_add_up_to_the_last_digits():
    X, _ = table(n=300)
    forest = paper_classifier(40, calibrate="temperature")
    forest.fit(X, np.digitize(3 * X[:, 0] + X[:, 1], [-1, 1]))
    for output, outputs in (("score", forest.decision_function), ("probability", forest.predict_proba)):
        explanation = forest.explain(X[:30], X[50:70], output=output)
        total = explanation.values.sum(axis=1) + explanation.base_values
        np.testing.assert_allclose(total, outputs(X[:30]), rtol=0, atol=1e-12)
