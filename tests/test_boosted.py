"""Bags of boosted trees in the core, and boosted stages of a forest."""

import hashlib
import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import root_mean_squared_error

from boostforest import BoostForestClassifier, BoostForestRegressor, _core, export_text, load_model, plot
from boostforest._base.sampling import Sampling
from boostforest._grow import adaptive, boosted, rounding, staged, trim
from boostforest._grow.objective import Objective
from boostforest._losses import Logistic, OutOfBag, SquaredError, SquaredErrors
from boostforest._model.model import Stages
from models import on_every_instruction_set, paper_classifier, paper_regressor

RULES = {
    "max_leaves": 8, "reg_lambda": 1.0, "learning_rate": 0.3, "feature_share": 1.0, "max_rounds": 3, "patience": 10,
    "overshoot": 0.0, "most_bins": 16, "row_share": 1.0,
}  # fmt: skip
SEEDS = np.array([3, 8], dtype=np.uint64)


def table(n=90, n_classes=0, missing=0.0, seed=0):
    """Return rows whose values repeat, so that bins are single values, and a target."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(n, 3)).astype(float)
    y = X[:, 0] + 2 * (X[:, 1] > 4) * (X[:, 2] > 2) + rng.normal(size=n)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def several(n_targets, X, y, seed=0):
    """Return as many targets, the first of them y."""
    rng = np.random.default_rng(seed)
    others = [np.nan_to_num(X[:, k % 3]) ** (1 + k // 3 % 2) + rng.normal(size=len(y)) for k in range(n_targets - 1)]
    return np.column_stack([y, *others])


def core_table(X, y, n_classes=0):
    """Return the compiled table, not scaled; ``y``: of one target, or rows × targets."""
    scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if y.ndim == 2:
        first = np.ascontiguousarray(y[:, 0])
        return _core.TrainingTable(X, *scale, first, SquaredErrors.code, 0, None, None, None, 1, (), y)
    loss = 0 if n_classes == 0 else 1 if n_classes == 2 else 2
    return _core.TrainingTable(X, *scale, y, loss, n_classes)


def boost(compiled, n, seeds=SEEDS, n_threads=1, start=None, cumulative=None, **changes):
    weight = None if cumulative is None else np.diff(cumulative, prepend=0.0)
    return compiled.boost(RULES | changes, seeds, n, cumulative, weight, False, n_threads, None, start)


def derivatives(y, F, n_classes):
    """Return g and h of rows × outputs."""
    if n_classes == 0:
        return F - y.reshape(F.shape), np.ones_like(F)
    if n_classes == 2:
        p = 1 / (1 + np.exp(-F))
        return p - y[:, None], p * (1 - p)
    p = np.exp(F - F.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p - np.eye(n_classes)[y.astype(int)], p * (1 - p)


class TwinTree:
    """One boosted tree by brute force: every split of every level, rows by rows."""

    def __init__(self, X, w, g, h, rules):
        self.X, self.w, self.rules = X, w, rules
        self.g, self.h = w[:, None] * g, w[:, None] * h
        self.leaves = [np.flatnonzero(w > 0)]
        for _ in range(int(np.log2(rules["max_leaves"]))):
            split = self.best()
            if split is None:
                break
            self.leaves = [part for leaf in self.leaves for part in self.parts(leaf, split) if len(part)]

    def score(self, rows):
        G, H = self.g[rows].sum(axis=0), self.h[rows].sum(axis=0)
        return float((G**2 / (H + self.rules["reg_lambda"])).sum())

    def parts(self, rows, split):
        _, feature, threshold, missing_left = split
        x = self.X[rows, feature]
        left = np.where(np.isnan(x), missing_left, x <= threshold).astype(bool)
        return rows[left], rows[~left]

    def best(self):
        """Return gain, feature, threshold and side of missing values of the best split; None: there is none."""
        best = None
        for feature in range(self.X.shape[1]):
            values = np.unique(self.X[:, feature][~np.isnan(self.X[:, feature])])
            for missing_left in (False, True):
                for threshold in values:
                    split = (0, feature, threshold, missing_left)
                    gain = sum(sum(map(self.score, self.parts(rows, split))) - self.score(rows) for rows in self.leaves)
                    if gain > 1e-6 and (best is None or gain > best[0] * (1 + 1e-6)):
                        best = (gain, feature, threshold, missing_left)
        return best

    def values(self, n_classes):
        """Return the score of each drawn row."""
        fitted = np.zeros_like(self.g)
        for rows in self.leaves:
            G, H = self.g[rows].sum(axis=0), self.h[rows].sum(axis=0)
            value = -self.rules["learning_rate"] * G / (H + self.rules["reg_lambda"])
            if n_classes > 2:
                value = (value - value.mean()) * (1 - 1 / len(value))
            fitted[rows] = value
        return fitted


def tree_scores(columns, X, tree, n_outputs):
    """Return the scores of one tree of the columns for all rows, walking from node to node."""
    starts = columns["tree_start"]
    names = ("feature", "threshold", "missing_left", "left")
    feature, threshold, missing_left, left = (columns[name][starts[tree] : starts[tree + 1]] for name in names)
    leaf_number = np.cumsum(feature < 0) - 1 + (columns["feature"][: starts[tree]] < 0).sum()
    values = columns["params"].reshape(-1, n_outputs)
    scores = np.empty((len(X), n_outputs))
    for i, x in enumerate(X):
        node = 0
        while feature[node] >= 0:
            value = x[feature[node]]
            goes_left = missing_left[node] if np.isnan(value) else value <= threshold[node]
            node = left[node] + (0 if goes_left else 1)
        scores[i] = values[leaf_number[node]]
    return scores


@pytest.mark.parametrize(
    ("n_classes", "missing", "n_targets"),
    [(0, 0.0, 1), (0, 0.2, 1), (2, 0.0, 1), (2, 0.2, 1), (3, 0.1, 1), (0, 0.0, 2), (0, 0.2, 3), (0, 0.1, 6)],
)
def test_boosted_trees_are_those_of_a_brute_force_search(n_classes, missing, n_targets):
    X, y = table(n_classes=n_classes, missing=missing)
    y = several(n_targets, X, y) if n_targets > 1 else y
    n_outputs = n_classes if n_classes > 2 else n_targets
    columns = boost(core_table(X, y, n_classes), len(y))
    first = 0
    for seed, end in zip(SEEDS, columns["bag_end"], strict=True):
        w = _core.bootstrap_counts(int(seed), len(y), len(y), None).astype(float)
        F = tree_scores(columns, X, first, n_outputs)  # the constant
        g, _ = derivatives(y, F, n_classes)
        assert_allclose((w[:, None] * g).sum(axis=0), 0, atol=2)
        for tree in range(first + 1, end):
            twin = TwinTree(X, w, *derivatives(y, F, n_classes), RULES)
            scores = tree_scores(columns, X, tree, n_outputs)
            assert_allclose(scores[w > 0], twin.values(n_classes)[w > 0], rtol=1e-5, atol=1e-6)
            F = F + scores
        first = end


@pytest.mark.parametrize("row_share", [1.0, 0.25])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_bags_are_the_same_for_any_number_of_threads(n_classes, row_share):
    X, y = table(300, n_classes, missing=0.1)
    seeds = np.arange(7, dtype=np.uint64)
    rules = {"feature_share": 0.5, "max_rounds": 20, "row_share": row_share}
    one, *others = (boost(core_table(X, y, n_classes), len(y), seeds, n_threads=n, **rules) for n in (1, 2, 8))
    for other in others:
        for name in one.keys() - {"history"}:
            assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("n_classes", [0, 2])
def test_a_part_of_the_rows_tells_where_to_split_and_all_what_leaves_are(n_classes):
    X, y = table(2000, n_classes, missing=0.1)
    seed = np.uint64(3)
    whole, halved = (
        boost(core_table(X, y, n_classes), len(y), np.array([seed]), row_share=share, max_rounds=5)
        for share in (1.0, 0.25)
    )
    assert not np.array_equal(whole["threshold"], halved["threshold"])
    assert np.mean(halved["loss_after"] - whole["loss_before"]) < 0
    w = _core.bootstrap_counts(int(seed), len(y), len(y), None).astype(float)
    begin, end = halved["tree_start"][1:3]
    is_leaf = halved["feature"][begin:end] < 0
    n_samples = halved["n_samples"][begin:end]
    assert n_samples[0] == n_samples[is_leaf].sum() == w.sum()
    constant, scores = (tree_scores(halved, X, tree, 1) for tree in (0, 1))
    g, h = derivatives(y, constant, n_classes)
    for value in np.unique(scores):
        rows = scores[:, 0] == value
        assert value == pytest.approx(-0.3 * (w[rows] @ g[rows])[0] / (w[rows] @ h[rows] + 1)[0], rel=1e-4)


@pytest.mark.parametrize("row_share", [1.0, 0.4])
@pytest.mark.parametrize("n_targets", [1, 2, 3, 6])
def test_bags_are_the_same_for_any_instruction_set(n_targets, row_share):
    X, y = table(300, 0, missing=0.1)
    y = several(n_targets, X, y) if n_targets > 1 else y
    seeds, rules = np.arange(3, dtype=np.uint64), {"max_rounds": 20, "feature_share": 0.7, "row_share": row_share}
    first, *others = on_every_instruction_set(lambda: boost(core_table(X, y, 0), len(y), seeds, **rules))
    for other in others:
        for name in ("feature", "threshold", "params"):
            assert_array_equal(first[name], other[name])


def test_bags_are_the_same_on_other_processors():
    # The digest of x86-64: other processors have one instruction set, and nothing to compare it with. Where generic
    # kernels fuse multiplications with additions (aarch64), these trees show it. Another way to grow changes it, too.
    X, y = table(300, 300, missing=0.1)
    rules = {"max_rounds": 40, "feature_share": 0.7, "row_share": 0.4}
    bags = boost(core_table(X, several(6, X, y)), len(y), np.arange(6, dtype=np.uint64), **rules)
    content = b"".join(bags[name].tobytes() for name in ("feature", "threshold", "params"))
    assert hashlib.sha256(content).hexdigest()[:16] == "d46566942a751307"


def test_two_bags_leave_a_row_out_and_the_others_have_it_once():
    for n_bags in (3, 6, 10, 31):
        seeds = _core.dealt_seeds(2**64 - 12345, n_bags)
        counts = np.array([_core.bootstrap_counts(int(seed), 2000, 2000, None) for seed in seeds])
        assert len(set(seeds.tolist())) == n_bags and all(_core.is_dealt(int(seed)) for seed in seeds)
        assert_array_equal(counts.sum(axis=0), n_bags - 2)
        assert counts.max() == 1
        assert_allclose(counts.mean(axis=1), 1 - 2 / n_bags, atol=5 * np.sqrt(2 / n_bags / 2000))
        pairs = np.unique((counts == 0).T @ 2.0 ** np.arange(n_bags))  # every two of them leave some row out
        assert n_bags > 10 or len(pairs) == n_bags * (n_bags - 1) // 2


def test_one_bag_leaves_most_rows_out_and_some_rows_two():
    for n_bags in (4, 5, 8):
        seeds = _core.dealt_seeds(7, n_bags, mostly_one=True)
        counts = np.array([_core.bootstrap_counts(int(seed), 4000, 4000, None) for seed in seeds])
        assert all(_core.is_dealt(int(seed)) for seed in seeds) and counts.max() == 1
        n_out = n_bags - counts.sum(axis=0)
        assert set(n_out.tolist()) == {1, 2} and np.mean(n_out == 2) == 1 / 8
        assert_allclose(counts.mean(axis=1), 1 - 1.125 / n_bags, atol=0.04)


def test_a_seed_that_only_looks_dealt_draws_as_any_other():
    mark = int(_core.dealt_seeds(0, 3)[0]) >> 32 << 32
    for broken in (mark, mark | 2 << 6, mark | 3 << 6 | 3):  # no bags, too few, one that is not there
        assert not _core.is_dealt(broken)
        assert _core.bootstrap_counts(broken, 500, 500, None).max() > 1


def test_rows_that_are_dealt_count_by_their_weights():
    X, y = table(400)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0, 5.0], 400)
    seeds = _core.dealt_seeds(1, 4)
    columns = boost(core_table(X, y), 400, seeds, cumulative=np.cumsum(weight), max_rounds=1)
    for seed, first in zip(seeds, [0, *columns["bag_end"][:-1]], strict=True):
        drawn = _core.bootstrap_counts(int(seed), 400, 400, np.cumsum(weight)) > 0
        assert not drawn[weight == 0].any()
        constant = tree_scores(columns, X[:1], first, 1)[0, 0]
        assert constant == pytest.approx(np.average(y[drawn], weights=weight[drawn]), rel=1e-3)


@pytest.mark.parametrize("overshoot", [0.0, 0.7])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_out_of_bag_sums_are_those_over_bags_that_have_not_drawn_a_row(n_classes, overshoot):
    X, y = table(120, n_classes, missing=0.1)
    n_outputs = n_classes if n_classes > 2 else 1
    seeds = np.arange(4, dtype=np.uint64)
    columns = boost(core_table(X, y, n_classes), len(y), seeds, overshoot=overshoot, max_rounds=12, patience=2)
    total, squares, bags = np.zeros((len(y), n_outputs)), np.zeros((len(y), n_outputs)), np.zeros(len(y))
    first = 0
    for seed, end in enumerate(columns["bag_end"]):
        out = _core.bootstrap_counts(seed, len(y), len(y), None) == 0
        scores = sum(tree_scores(columns, X, tree, n_outputs) for tree in range(first, end))
        total[out] += scores[out]
        squares[out] += scores[out] ** 2
        bags[out] += 1
        first = end
    assert_allclose(columns["oob_total"].reshape(total.shape), total, rtol=1e-9, atol=1e-9)
    assert_allclose(columns["oob_squares"].reshape(total.shape), squares, rtol=1e-9, atol=1e-9)
    assert_array_equal(columns["oob_bags"], bags)


@pytest.mark.parametrize("n_classes", [0, 3])
def test_the_scores_of_some_rounds_are_remembered(n_classes):
    X, y = table(120, n_classes)
    n_outputs = n_classes if n_classes > 2 else 1
    columns = boost(core_table(X, y, n_classes), len(y), max_rounds=150, patience=150, overshoot=10.0)
    first = 0
    for seed, end, (rows, after) in zip(SEEDS, columns["bag_end"], columns["history"], strict=True):
        assert_array_equal(rows, np.flatnonzero(_core.bootstrap_counts(int(seed), len(y), len(y), None) == 0))
        numbers = [n for n, _ in after]
        assert numbers[-1] == end - first and 16 <= len(numbers) <= 33 and np.ptp(np.diff(numbers[:-1])) == 0
        for n, scores in after[::8]:
            expected = sum(tree_scores(columns, X[rows], tree, n_outputs) for tree in range(first, first + n))
            assert_allclose(scores.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)
        first = end


def test_a_bag_ends_at_the_round_that_is_best_for_the_rows_it_has_not_drawn():
    X, y = table(200)
    few, many = (boost(core_table(X, y), len(y), max_rounds=n, patience=400, learning_rate=0.5) for n in (4, 400))
    assert (many["loss_after"] <= few["loss_after"]).all() and (few["loss_after"] < few["loss_before"]).all()
    assert (np.diff(many["bag_end"], prepend=0) < 400).all()  # later trees learn the noise
    patient = boost(core_table(X, y), len(y), max_rounds=400, patience=5, learning_rate=0.5)
    assert (patient["n_rounds"] < 100).all()


def test_a_bag_keeps_rounds_after_the_best_one_as_a_share_of_those_before():
    X, y = table(200)
    rules = {"max_rounds": 400, "patience": 5, "learning_rate": 0.4}
    best, more = (boost(core_table(X, y), len(y), overshoot=share, **rules) for share in (0.0, 1.5))
    rounds, all_rounds = (np.diff(columns["bag_end"], prepend=0) - 1 for columns in (best, more))
    assert (rounds > 1).all()
    assert_array_equal(all_rounds, rounds + np.floor(1.5 * rounds))
    assert_array_equal(best["loss_after"], more["loss_after"])
    n_nodes = best["tree_start"][best["bag_end"][0]]  # the first bag begins with the same trees
    assert_array_equal(best["threshold"][:n_nodes], more["threshold"][:n_nodes])


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize(("pause", "overshoot"), [(1, 0.0), (7, 1.0), (40, 1.0), (300, 0.5)])
def test_bags_that_go_on_are_those_without_a_pause(n_classes, pause, overshoot):
    X, y = table(200, n_classes)
    rules = RULES | {"max_rounds": 60, "patience": 20, "overshoot": overshoot}

    def arguments(**changes):
        return rules | changes, SEEDS, len(y), None, None, False, 1, np.array([0, 2], dtype=np.int32), None, "int8"

    whole = core_table(X, y, n_classes).boost(*arguments())
    paused = core_table(X, y, n_classes).boost(*arguments(max_rounds=pause), None, True)["paused"]  # keeps its table
    after = paused.go_on(60, 2)
    assert whole.keys() == after.keys()
    for name in whole.keys() - {"history"}:
        assert_array_equal(whole[name], after[name], err_msg=name)
    for one, other in zip(whole["history"], after["history"], strict=True):
        assert_array_equal(one[0], other[0])
        assert [n for n, _ in one[1]] == [n for n, _ in other[1]]
        assert_array_equal(np.concatenate([f for _, f in one[1]]), np.concatenate([f for _, f in other[1]]))
    with pytest.raises(ValueError, match="bags go on once"):
        paused.go_on(60, 1)


def test_all_bags_decide_where_there_are_rows_for_them_and_bags_from_nothing_come_near(monkeypatch):
    """Lines leave nothing to boosting: the trial says so, and so do all bags where they are asked."""
    X = np.random.default_rng(0).normal(size=(400, 3))
    y = X @ [3.0, 2.0, 1.0] + np.random.default_rng(1).normal(size=400)
    whole = []
    grow = boosted.Booster._whole
    monkeypatch.setattr(boosted.Booster, "_whole", lambda *own: whole.append(own[1].starts_at_forest) or grow(*own))

    def grown_whole(rows_of_doubt, nearly):
        monkeypatch.setattr(boosted, "_ROWS_OF_DOUBT", rows_of_doubt)
        monkeypatch.setattr(boosted, "_NEARLY", nearly)
        whole.clear()
        forest = BoostForestRegressor(40, random_state=0).fit(X, y)
        assert not any(forest.stages_.boosted)
        return list(whole)

    assert grown_whole(401, 10.0) == grown_whole(400, -0.5) == []
    assert grown_whole(400, 10.0) == [False]


def test_a_trial_that_was_cut_goes_on(monkeypatch):
    def fit():
        forest = paper_regressor(60, boost=True).fit(*wavy())
        return [forest.stages_, *(column.tobytes() for column in forest.forest_.arrays().values())]

    monkeypatch.setattr(boosted, "_TRIAL_ROUNDS", 20)
    went_on, boost_bags = fit(), boosted.boost_bags
    monkeypatch.setattr(boosted, "boost_bags", lambda *args: (*boost_bags(*args)[:-1], None))  # as other machines do
    assert fit() == went_on


def test_scores_to_start_from_are_corrected_and_not_repeated():
    X, y = table(200)
    perfect = boost(core_table(X, y), len(y), start=y[:, None].copy())
    assert_array_equal(perfect["params"], 0.0)
    assert_allclose(boost(core_table(X, y), len(y), start=np.zeros((len(y), 1)))["params"][0], 0.0)


def test_whole_weights_make_the_bins_of_repeated_rows():
    """Bins and what is drawn follow from shares of the weight, so that one row of weight 3 is three rows."""
    rng = np.random.default_rng(0)
    X, y, times = rng.normal(size=(60, 2)), rng.normal(size=60), rng.integers(1, 4, 60)
    repeated = core_table(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted = core_table(X, y)
    thresholds = [
        boost(compiled, n, max_leaves=32, max_rounds=40, most_bins=8, cumulative=cumulative)["threshold"]
        for compiled, n, cumulative in (
            (repeated, int(times.sum()), None),
            (weighted, int(times.sum()), np.cumsum(times).astype(float)),
        )
    ]
    assert len(np.union1d(*thresholds)) <= 2 * 7 + 1  # the same borders: seven of each feature, and 0 at leaves


def test_splits_are_on_the_chosen_features_only():
    X, y = table(150)
    some = np.array([0, 2], dtype=np.int32)
    columns = core_table(X, y).boost(RULES, SEEDS, len(y), None, None, False, 1, some)
    assert set(columns["feature"].tolist()) == {-1, 0, 2}


# --------------------------------------------------------------------------------------------------------- forests


def wavy(n=700, seed=0):
    """Return a table on which boosted trees help: steps and products, many features without any use."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 8))
    y = 4 * (X[:, 0] > 0.5) * (X[:, 1] > 0.4) + 3 * np.floor(4 * X[:, 2]) * (X[:, 3] > 0.6) + rng.normal(size=n)
    return X, y


X, y = wavy()


@pytest.fixture(scope="module")
def regressor():
    X, y = wavy()
    with pytest.MonkeyPatch.context() as patch:  # otherwise some rows are left out by bags that are not kept
        keep_all_bags(patch)
        return paper_regressor(80, boost=True, oob_score=True).fit(X, y)


@pytest.fixture(scope="module")
def classifier():
    X, y = wavy()
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [2.5, 6])]
    return paper_classifier(80, boost=True, calibrate="auto").fit(X, labels)


def test_boosted_stages_lower_the_error_where_trees_have_steps(regressor):
    X, y = wavy(seed=1)
    forest = paper_regressor(80).fit(*wavy())
    assert any(regressor.stages_.boosted) and regressor.oob_losses_[-1] < regressor.oob_losses_[0]
    errors = [np.mean((model.predict(X) - y) ** 2) for model in (regressor, forest)]
    assert errors[0] < 0.95 * errors[1]


@pytest.mark.parametrize("which", ["regressor", "classifier"])
def test_a_prediction_is_the_sum_over_stages(which, request):
    forest = request.getfixturevalue(which)
    model, (X, _) = forest._model, wavy(40, seed=2)
    stages, scores = model.stages, 0.0
    for stage, ((first, end), step, units) in enumerate(zip(stages.parts, stages.steps, stages.units, strict=True)):
        part = sum(model.sums(X, 1, stage > 0, slice(t, t + 1)) for t in range(first, end)) / units
        scores = scores + step * (model.loss.scores(part) if stage == 0 else part)
    assert_allclose(model.outputs(X, 1), model.calibration.outputs(model.loss, scores))
    *_, last = model.staged_outputs(X, 1)
    assert_allclose(last, model.outputs(X, 1))


@pytest.mark.parametrize("which", ["regressor", "classifier"])
def test_boosted_forests_come_back_from_files_and_pickles(which, request, reloaded):
    forest, (X, _) = request.getfixturevalue(which), wavy(40, seed=2)
    for other in (reloaded(forest), pickle.loads(pickle.dumps(forest))):
        assert other.stages_ == forest.stages_ and other.boost is True
        assert_array_equal(other.predict(X), forest.predict(X))
        assert_array_equal(other.feature_importances_, forest.feature_importances_)


def test_out_of_bag_predictions_are_those_of_bags_that_have_not_drawn_a_row(regressor):
    model, sampling = regressor._model, Sampling(bootstrap=True, n_draws=len(y))
    total, complete = np.zeros(len(y)), np.ones(len(y), dtype=bool)
    for members, step in zip(model.stages.members(model.seeds), model.stages.steps, strict=True):
        sums, n = np.zeros(len(y)), np.zeros(len(y))
        for first, end in members:
            out = sampling.counts(model.seeds[first], len(y)) == 0
            sums[out] += model.sums(X[out], 1, True, slice(first, end))[:, 0]
            n += out
        complete &= n > 0
        total += step * sums / np.maximum(n, 1)
    assert complete.mean() > 0.9
    assert_allclose(regressor.oob_prediction_[complete], model.loss.decode(total[:, None])[complete])


def test_the_training_rows_of_boosted_forests_are_judged_out_of_bag(regressor):
    sampling = Sampling(bootstrap=True, n_draws=len(y))
    outputs, seen = regressor._model.out_of_bag_outputs(X, sampling, 1)
    assert seen.all()  # some bags leave each row out
    assert_allclose(regressor._model.loss.decode(outputs)[seen], regressor.oob_prediction_[seen])
    report = regressor.compress(X=X, y=y).compression_report_
    errors = regressor.oob_prediction_[seen] - y[seen]
    assert report[0]["loss"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert report[-1]["bytes"] < report[0]["bytes"] and report[-1]["loss"] <= 1.001 * report[0]["loss"]


def test_compress_leaves_whole_bags_out(tmp_path, monkeypatch):
    X, y = wavy(300, seed=4)
    monkeypatch.setattr(boosted, "RULES", replace(boosted.RULES, max_rounds=12))
    forest = paper_regressor(40, boost=True).fit(*wavy(200))
    assert any(forest.stages_.boosted)
    most = forest.compress(X=X, y=y).compression_report_[-1]["bytes"] // 2
    small = forest.compress(max_bytes=most, X=X, y=y)
    small.save_model(tmp_path / "small.bf")
    assert (tmp_path / "small.bf").stat().st_size <= most
    before, after = forest.stages_, small.stages_
    assert after.steps == before.steps and all(1 <= a < b for a, b in zip(after.units, before.units, strict=True))
    for n, own, of_all in zip(after.units, after.parts, before.parts, strict=True):  # all trees of a bag, or none
        kept = np.unique(small.tree_seeds_[slice(*own)])
        assert len(kept) == n
        all_seeds = forest.tree_seeds_[slice(*of_all)]
        assert_array_equal(small.tree_seeds_[slice(*own)], all_seeds[np.isin(all_seeds, kept)])
    assert_array_equal(load_model(tmp_path / "small.bf").predict(X), small.predict(X))
    assert np.mean((small.predict(X) - y) ** 2) < 1.2 * np.mean((forest.predict(X) - y) ** 2)


def test_intervals_of_boosted_forests_hold_their_share(regressor):
    X, y = wavy(1500, seed=3)
    ends = regressor.predict_interval(X, coverage=0.9)
    assert 0.86 < np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])) < 0.95


def test_single_trees_and_importances_of_boosted_forests(regressor, classifier):
    for forest in (regressor, classifier):
        assert forest.feature_importances_.sum() == pytest.approx(1)
        assert forest.feature_importances_[:4].sum() > 0.6
        assert len(forest.stages_.tree_weights()) == forest.forest_.n_trees == len(forest.tree_params_)
        tree = forest.get_tree(-1)
        assert tree.get_params()["max_leaf_nodes"] == 64 and tree._model.columns.kind[0] == 0
    assert regressor.get_tree(-1).feature_mean_.shape == (8,)


def test_text_of_boosted_trees_has_no_losses_that_were_not_computed(regressor):
    assert "RMSE" in export_text(regressor.get_tree(0)) and "RMSE" not in export_text(regressor.get_tree(-1))
    assert "RMSE" not in plot.to_dot(regressor, -1) and " rows" in plot.to_dot(regressor, -1)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_boosted_forests_in_fewer_digits(dtype):
    X, y = wavy(300)
    exact, short = (paper_regressor(40, boost=True, dtype=d).fit(X, y) for d in ("float64", dtype))
    assert short.forest_.dtype == dtype
    assert_allclose(short.predict(X), exact.predict(X), rtol=0.05, atol=0.05)


def test_the_same_boosted_forest_for_any_number_of_threads():
    X, y = wavy(300)
    one, two = (paper_regressor(40, boost=True, n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.stages_ == two.stages_
    for name, column in one.forest_.arrays().items():
        assert column.tobytes() == two.forest_.arrays()[name].tobytes()


def test_boosted_stages_are_left_out_where_they_do_not_help():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    forest = paper_regressor(60, boost=True).fit(X, X @ np.arange(5) + rng.normal(size=300))
    assert forest.n_stages_ == 1 and forest.stages_.units == ()


def test_the_forest_is_the_same_where_boosting_is_tried_and_not_taken(monkeypatch):
    X, y = wavy(300)
    monkeypatch.setattr(staged, "_ROWS_OF_COMPANY", 100)  # bags are grown before the last trees of the forest
    monkeypatch.setattr(adaptive, "_SMALLER", 0.0)  # no larger leaves
    monkeypatch.setattr(boosted.Booster, "grow", lambda booster, forest: None)
    forests = [BoostForestRegressor(60, boost=boost, random_state=0).fit(X, y) for boost in (None, False)]
    assert_array_equal(forests[0].forest_.threshold, forests[1].forest_.threshold)
    assert_array_equal(*(forest.predict(X) for forest in forests))


@pytest.mark.parametrize("taken", [True, False])
def test_trees_without_slopes_are_left_to_boosting_unless_it_is_not_taken(taken, monkeypatch):
    tried, plain_trees = [], staged.StageGrower._plain_trees

    def noted(grower, best):
        tried.append(bool(found := plain_trees(grower, best)))
        return found

    monkeypatch.setattr(staged, "_ROWS_OF_BOOSTING", 100)
    monkeypatch.setattr(staged.StageGrower, "_plain_trees", noted)
    if not taken:
        monkeypatch.setattr(boosted.Booster, "grow", lambda booster, forest: None)
    forest = BoostForestRegressor(40, random_state=0).fit(*wavy(300))
    assert any(forest.stages_.boosted) == taken
    assert not tried[0] and tried[-1] == (not taken)


@pytest.mark.parametrize(("outweighs", "taken"), [(True, True), (True, False), (False, True)])
def test_with_plenty_of_rows_later_forests_are_left_to_boosting_that_outweighs_the_first(outweighs, taken, monkeypatch):
    called, add_stages = [], staged.StageGrower._add_stages
    monkeypatch.setattr(staged.StageGrower, "_add_stages", lambda *args: called.append(1) or add_stages(*args))
    monkeypatch.setattr(staged, "PLENTY_OF_ROWS", 100)
    monkeypatch.setattr(boosted.Booster, "outweighs", lambda booster, forest: outweighs)
    if not taken:
        monkeypatch.setattr(boosted.Booster, "grow", lambda booster, forest: None)
    forest = BoostForestRegressor(40, random_state=0).fit(*wavy(300))
    assert any(forest.stages_.boosted) == taken and bool(called) == (not outweighs or not taken)


def test_boosting_outweighs_a_forest_that_knows_nothing_and_none_that_knows_all():
    y = np.random.default_rng(0).normal(size=(500, 1))
    booster = boosted.Booster(SimpleNamespace(objective=Objective(SquaredError(), y[:, 0])))
    vars(booster)["_from_nothing"] = chain_of(0.9 * y)
    seen, noise = np.ones(500, dtype=bool), np.zeros(500)
    assert booster.outweighs(boosted.Forest(0 * y, seen, noise))
    assert not booster.outweighs(boosted.Forest(y, seen, noise))


@pytest.mark.parametrize("allowed", [10.0, -10.0])
def test_with_plenty_of_rows_one_chain_is_boosted_if_it_is_nearly_as_good_as_both(allowed, monkeypatch):
    whole, asked = boosted.Booster._whole, []
    monkeypatch.setattr(boosted.Booster, "_whole", lambda *args: asked.append(args[1]) or whole(*args))
    monkeypatch.setattr(boosted, "LEAST_WEIGHT", 0.0)
    monkeypatch.setattr(boosted, "_ROWS_OF_ONE_CHAIN", 100)
    monkeypatch.setattr(boosted, "_OF_ONE_CHAIN", allowed)
    paper_regressor(60, boost=True).fit(*wavy(300))
    assert len(asked) == (1 if allowed > 0 else 2)


def test_missing_values_and_weights_of_zero_go_with_boosted_stages():
    X, y = wavy(400)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    weight = np.ones(400)
    weight[:50], y[:50] = 0.0, 1e6  # count nowhere
    forest = paper_regressor(60, boost=True).fit(X, y, sample_weight=weight)
    assert any(forest.stages_.boosted) and all(
        map(_core.is_dealt, forest.tree_seeds_[forest.stages_.ends[0] :].tolist())
    )
    assert np.abs(forest.predict(X)).max() < 100


def test_bags_draw_as_many_rows_as_max_samples_says():
    forest = paper_regressor(40, boost=True, max_samples=0.7).fit(*wavy(400))
    assert any(forest.stages_.boosted) and not any(map(_core.is_dealt, forest.tree_seeds_.tolist()))


def test_constraints_exclude_boosted_stages():
    X, y = wavy(300)
    best = BoostForestRegressor(60, preset="best", monotonic_cst=[1] + [0] * 7, random_state=0).fit(X, y)
    assert best.stages_.units == ()
    with pytest.raises(ValueError, match="boost=True does not go with monotonic_cst: boosted trees keep no constraint"):
        BoostForestRegressor(boost=True, monotonic_cst=[1] + [0] * 7, preset="paper").fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"boost": 1}, r"boost must be None, True or False; got 1\."),
        ({"boost": "auto"}, r"boost must be None, True or False; got 'auto'\."),
        ({"boost": True, "bootstrap": False}, "boost=True needs bootstrap=True: it is decided by the rows"),
        ({"boost": True, "warm_start": True}, r"boost=True does not go with warm_start=True: the trees depend on"),
    ],
)
def test_what_cannot_be_boosted_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        BoostForestRegressor(10, **params, preset="paper").fit(*wavy(60))


def test_boosting_by_name_that_cannot_be_had_is_refused_and_the_default_goes_without():
    X, y = wavy(200)
    cases = [
        ({"loss": "quantile"}, X, y, r"boost=True does not go with loss='quantile': constant leaves"),
        ({"loss": "absolute_error"}, X, y, r"boost=True does not go with loss='absolute_error': constant leaves"),
        ({}, X[:149], y[:149], r"boost=True needs at least 150 rows, .*; got 149\."),
    ]
    for params, rows, target, message in cases:
        for preset in ("best", "paper"):
            with pytest.raises(ValueError, match=message):
                BoostForestRegressor(40, boost=True, preset=preset, **params).fit(rows, target)
        assert not any(BoostForestRegressor(40, random_state=0, **params).fit(rows, target).stages_.boosted)


def test_boosting_by_name_needs_two_classes():
    X, _ = wavy(200)
    one_class = pytest.warns(UserWarning, match="y has one class only")
    with one_class, pytest.raises(ValueError, match=r"boost=True needs at least two classes; got 1\."):
        BoostForestClassifier(40, boost=True).fit(X, np.zeros(200))


def test_few_rows_have_fewer_bins():
    rules = [boosted.RULES.for_table(n, 9, 1, 1000) for n in (100, 400, 2000)]
    assert [own["most_bins"] for own in rules] == [31, 50, 127]
    assert [own["max_leaves"] for own in rules] == [16, 16, 64]
    assert [own["max_rounds"] for own in rules] == [150, 200, 1000]


def test_of_many_rows_and_features_a_share_tells_where_to_split():
    sizes = [(7_999, 30), (8_000, 30), (16_000, 30), (80_000, 30), (80_000, 19)]
    assert [boosted.RULES.for_table(*size, 1, 9)["row_share"] for size in sizes] == [1.0, 1.0, 0.5, 0.3, 1.0]


def test_many_outputs_have_fewer_bins_and_bags():
    assert [boosted.RULES.for_table(2000, 9, k, 9)["most_bins"] for k in (1, 5, 10, 30)] == [127, 127, 63, 31]
    sizes = (999, 1_000, 5_001, 16_000)
    assert [boosted.number_of_bags(SquaredError(), n) for n in sizes] == [10, 8, 5, 4]
    assert boosted.number_of_bags(SquaredErrors((SquaredError(),) * 2), 500) == 5


# --------------------------------------------------------------------------------------------------------- weights


def chain_of(scores, spread=0.0, n=3):
    """Return a chain with these out-of-bag means."""
    squares = scores**2 * n + spread * (n - 1)
    oob = OutOfBag(scores * n, squares, np.full((len(scores), 1), float(n)))
    return boosted.Chain(False, None, oob, (), False)


def test_weights_are_those_of_least_squares_without_negative_ones():
    rng = np.random.default_rng(0)
    y = rng.normal(size=20000)
    a, b, c = (y[:, None] + rng.normal(size=(20000, 1)) * s for s in (1, 0.5, 1))
    forest = boosted.Forest(a, np.ones(20000, dtype=bool), np.zeros(20000))
    mixture = boosted.Mixture(Objective(SquaredError(), y), forest, [chain_of(b), chain_of(-c)])
    exact = np.linalg.lstsq(np.hstack([a, b]), y, rcond=None)[0]
    assert_allclose(mixture.fit(), [*exact, 0.0], atol=2e-3)
    assert mixture.t_value(mixture.fit()) < -10


def test_noise_that_more_bags_take_away_does_not_count():
    """Two of six bags are left to a row: the mean of all has a third of the variance."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=9000)
    bags = y[:, None, None] + rng.normal(size=(9000, 1, boosted.number_of_bags(SquaredError(), 9000)))
    forest = boosted.Forest(y[:, None] + rng.normal(size=(9000, 1)), np.ones(9000, dtype=bool), np.zeros(9000))
    left = bags[:, :, :2]
    oob = OutOfBag(left.sum(axis=2), (left**2).sum(axis=2), np.full((9000, 1), 2.0))
    chains = [replace(chain_of(y[:, None]), oob=oob, all_bags=boosted.number_of_bags(SquaredError(), 9000))]
    mixture = boosted.Mixture(Objective(SquaredError(), y), forest, chains)
    exact = np.linalg.lstsq(np.hstack([forest.scores, bags.mean(axis=2)]), y, rcond=None)[0]
    assert_allclose(mixture.fit(), exact, atol=0.03)


def test_weights_stay_bounded_where_classes_are_separated():
    y = np.repeat([0.0, 1.0], 100)
    scores = np.where(y > 0, 6.0, -6.0)[:, None]
    forest = boosted.Forest(scores, np.ones(200, dtype=bool), np.full(200, 5.0))
    mixture = boosted.Mixture(Objective(Logistic(np.array([0, 1])), y), forest, [chain_of(scores, spread=100.0)])
    assert (mixture.fit() <= boosted._MOST_WEIGHT).all() and np.isfinite(mixture.t_value(mixture.fit()))


def test_stages_know_their_bags():
    stages = Stages((3,)).add(5, 0.5, n_bags=2)
    assert stages == Stages((3, 8), (1.0, 0.5), (3, 2)) and stages.boosted == (False, True)
    seeds = np.array([1, 1, 2, 5, 5, 5, 6, 6], dtype=np.uint64)
    assert stages.members(seeds) == [[(0, 1), (1, 2), (2, 3)], [(3, 6), (6, 8)]]
    assert stages.tree_weights() == pytest.approx([1 / 3] * 3 + [1 / 4] * 5)
    assert Stages((3,)).add(2, 0.5).units == ()


def keep_all_bags(monkeypatch):
    monkeypatch.setattr(staged, "with_fewer_bags", lambda chains, *_: chains)


def test_boosted_stages_have_as_few_bags_as_their_noise_allows(monkeypatch):
    few = paper_regressor(60, boost=True, oob_score=True).fit(X, y)
    keep_all_bags(monkeypatch)
    all_bags = paper_regressor(60, boost=True, oob_score=True).fit(X, y)
    n_few, n_all = few.stages_.units[-1], all_bags.stages_.units[-1]
    assert n_all / 2 <= n_few < n_all and few.stages_.steps == all_bags.stages_.steps
    assert_array_equal(few.oob_prediction_, all_bags.oob_prediction_)  # known of all bags
    first, end = few.stages_.parts[-1]
    begin = all_bags.stages_.parts[-1][0]
    assert_array_equal(few.forest_.take(first, end).params, all_bags.forest_.take(begin, begin + end - first).params)
    rows, target = wavy(2000, seed=1)
    rise = root_mean_squared_error(target, few.predict(rows)) / root_mean_squared_error(target, all_bags.predict(rows))
    assert rise < 1.005


def test_bags_are_kept_where_fewer_would_raise_the_loss(monkeypatch):
    monkeypatch.setattr(trim, "TOLERANCE", 1e-9)
    forest = paper_regressor(60, boost=True).fit(X, y)
    assert forest.stages_.units[-1] == boosted.number_of_bags(SquaredError(), len(y))


def test_boosted_stages_have_as_few_rounds_as_the_out_of_bag_loss_allows(monkeypatch):
    keep_all_bags(monkeypatch)
    short = paper_regressor(60, boost=True).fit(X, y)
    monkeypatch.setattr(trim, "TOLERANCE", -np.inf)
    whole = paper_regressor(60, boost=True).fit(X, y)
    assert short.forest_.n_trees < 0.9 * whole.forest_.n_trees
    assert short.oob_losses_[-1] < 1.0021 * whole.oob_losses_[-1]  # squared errors: twice a thousandth
    assert short.stages_.units == whole.stages_.units and short.stages_.steps == whole.stages_.steps
    starts = [first for first, _ in whole._model.stages.members(whole._model.seeds)[-1]]
    own = [first for first, _ in short._model.stages.members(short._model.seeds)[-1]]
    for a, b in zip(own, starts, strict=True):  # the first rounds are the same
        assert_array_equal(short.forest_.take(a + 3).params, whole.forest_.take(b + 3).params)


def test_a_part_whose_bags_have_a_tree_each_is_rounded_as_the_whole():
    model = paper_regressor(60, boost=True, dtype="float64").fit(X, y)._model
    first, stages = model.stages.parts[-1][0], model.stages
    of_part = Stages((*stages.ends[:-1], first + 1), stages.steps, (*stages.counts[:-1], 1))
    part = replace(model.take(0, first + 1), stages=of_part)
    assert stages.boosted[-1] and not part.stages.boosted[-1]
    short = rounding.rounded(part, "int8", rounding.Units(boosted=(-6,) * sum(stages.boosted)))
    assert short.dtype == np.int8 and short.n_trees == first + 1


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_one_row_alone_has_the_scores_of_a_row_among_others(n_classes, dtype):
    X, y = wavy()
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)) if n_classes else y
    X[::3, 0] = np.nan
    forest = BoostForestClassifier if n_classes else BoostForestRegressor
    forest = forest(40, boost=True, dtype=dtype, random_state=0, preset="paper").fit(X, y)
    assert any(forest.stages_.boosted)
    predict = forest.predict_proba if n_classes else forest.predict
    alone = np.concatenate([predict(X[i : i + 1]) for i in range(40)])
    for n in (5, 20, 40):  # few rows go down many trees one after another, more go down a tree together
        assert_array_equal(np.concatenate([predict(X[i : i + n]) for i in range(0, 40, n)]), alone)


def test_chains_of_fewer_rounds_know_what_their_trees_add_up_to(monkeypatch):
    calls, (X, y) = [], wavy()
    monkeypatch.setattr(staged, "with_fewer_rounds", lambda *args: calls.append(args) or args[0])
    paper_regressor(60, boost=True).fit(X, y)
    ((chains, weights, forest, growth),) = calls
    shorter = trim.with_fewer_rounds(chains, weights, forest, growth)
    assert shorter[0].model.n_trees < chains[0].model.n_trees and shorter[0].n_bags == chains[0].n_bags
    for chain in shorter:
        trees = chain.model.out_of_bag(X, growth.data.sampling, 1, scores=True)
        assert_allclose(chain.oob.total, trees.total, rtol=1e-6, atol=1e-6)
        assert [after[-1][0] for _, after in chain.history] == [end - first for first, end in trim._bags(chain)]


def test_of_two_chains_that_are_alike_one_is_enough(monkeypatch):
    calls = []
    monkeypatch.setattr(staged, "without_weak_chains", lambda *args: calls.append(args) or args[:2])
    paper_regressor(60, boost=True).fit(*wavy())
    ((chains, weights, alone, growth),) = calls
    twice = [chains[0], chains[0]]
    kept, own = trim.without_weak_chains(twice, np.array([weights[0], weights[1] / 2, weights[1] / 2]), alone, growth)
    assert kept == [chains[0]] and own == pytest.approx(boosted.Mixture(growth.objective, alone, kept).fit())
    useless = replace(chains[0], oob=replace(chains[0].oob, total=0 * chains[0].oob.total))
    kept, _ = trim.without_weak_chains([useless, chains[0]], np.array([weights[0], 0.0, weights[1]]), alone, growth)
    assert kept == [chains[0]]


def test_noise_that_more_bags_take_away_does_not_cost_rounds(monkeypatch):
    """Of whole bags a row has a mean of three with a variance of 1/3, but that of all eight has 1/8."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(9000, 1))

    def mean_of_three(slope, noise):
        bags = slope * y[:, :, None] + noise * rng.normal(size=(9000, 1, 3))
        return OutOfBag(bags.sum(axis=2), (bags**2).sum(axis=2), np.full((9000, 1), 3.0))

    shorter = mean_of_three(0.55, 0.3)  # squared errors of 0.23 by three bags, 0.21 by eight
    monkeypatch.setattr(trim, "_with_rounds", lambda chain, share: (shorter, []))
    forest = boosted.Forest(np.zeros((9000, 1)), np.ones(9000, dtype=bool), np.zeros(9000))
    growth = SimpleNamespace(objective=Objective(SquaredError(), y[:, 0]), data=SimpleNamespace(X=y))
    chains = [replace(chain_of(y), oob=mean_of_three(1.0, 1.0))]
    assert trim.with_fewer_rounds(chains, np.array([0.0, 1.0]), forest, growth) is chains


def test_a_forest_that_counts_nothing_is_one_tree(monkeypatch, tmp_path):
    grow = boosted.Booster.grow

    def without_forest(self, forest):
        chains, weights = grow(self, forest)
        return chains, np.where(np.arange(len(weights)) == 0, 0.0, weights)

    monkeypatch.setattr(boosted.Booster, "grow", without_forest)
    keep_all_bags(monkeypatch)
    X, y = wavy()
    forest = paper_regressor(60, boost=True, n_stages=2, oob_score=True).fit(X, y)
    assert (
        forest.stages_.ends[0] == 1 and forest.stages_.steps[0] == 0 and len(forest.stages_.units) == forest.n_stages_
    )
    forest.save_model(tmp_path / "a")
    assert_array_equal(load_model(tmp_path / "a").predict(X), forest.predict(X))
    assert_array_equal(load_model(tmp_path / "a").predict_interval(X), forest.predict_interval(X))
    outputs, seen = forest._model.out_of_bag_outputs(X, Sampling(bootstrap=True, n_draws=len(y)), 1)
    assert seen.mean() > 0.9
    assert_allclose(forest._model.loss.decode(outputs)[seen], forest.oob_prediction_[seen])
