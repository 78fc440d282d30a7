"""Categories: what becomes of them, that nothing leaks, and what happens to levels that the fit has not seen."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.preprocessing import OneHotEncoder, TargetEncoder

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from boostforest._base.draws import fold_numbers
from boostforest._features import encoder, levels
from boostforest._features.encoder import N_FOLDS, CategoryColumn
from boostforest._features.levels import PRIOR_WEIGHT
from models import FORESTS, assert_same_trees, paper_classifier, paper_regressor


def table(task="regression", n=150, n_towns=12, seed=0):
    """Return a frame with two numbers, a colour (3 levels), a flag (2) and a town (many), and its target."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "weight": rng.normal(size=n),
            "town": [f"town {i:02d}" for i in rng.integers(n_towns, size=n)],
            "flag": rng.choice(["yes", "no"], n),
        }
    )
    effect = frame["town"].str[-2:].astype(int) % 5 + 2.0 * (frame["colour"] == "red")
    score = (frame["size"] + effect + (frame["flag"] == "yes") + 0.1 * rng.normal(size=n)).to_numpy()
    return frame, score if task == "regression" else np.digitize(score, [3] if task == "binary" else [2, 4])


frame, y = table()


def fit(task="regression", n_estimators=5, data=None, **params):
    """Return a small forest and its table."""
    frame, y = data or table(task)
    return FORESTS[task](n_estimators, random_state=0, **params).fit(frame, y), frame, y


# -------------------------------------------------------------------------------------------------------------- one-hot


@pytest.mark.parametrize("task", FORESTS)
def test_one_hot_is_a_fit_on_what_scikit_learn_encodes(task):
    forest, frame, y = fit(task, max_one_hot=None)
    blocks = [
        frame[[name]].to_numpy()
        if frame[name].dtype == float
        else OneHotEncoder(drop="if_binary", sparse_output=False).fit_transform(frame[[name]])
        for name in frame
    ]
    encoded = np.hstack(blocks)
    plain = clone(forest).fit(encoded, y)
    assert_same_trees(forest, plain)
    assert_array_equal(forest.predict(frame), plain.predict(encoded))
    by_feature = np.split(plain.feature_importances_, np.cumsum([block.shape[1] for block in blocks])[:-1])
    assert_allclose(forest.feature_importances_, [block.sum() for block in by_feature], rtol=1e-12)


def test_missing_categories_are_a_level_of_their_own():
    frame, y = table()
    frame.loc[::3, "colour"] = None
    forest, *_ = fit(data=(frame, y))
    assert forest.encoder_.columns[1].n_levels == 4 > forest.max_one_hot
    filled = frame.assign(colour=frame["colour"].astype(object).fillna("zz: behind the others"))
    assert_array_equal(fit(data=(filled, y))[0].predict(filled), forest.predict(frame))


@pytest.mark.parametrize("max_one_hot", [None, 0])
@pytest.mark.parametrize("task", FORESTS)
def test_unknown_categories_and_missing_ones_that_the_fit_had_none_of_count_as_missing(task, max_one_hot):
    forest, frame, _ = fit(task, max_one_hot=max_one_hot)
    for name in ("colour", "town", "flag"):
        missing, unknown = frame.assign(**{name: None}), frame.assign(**{name: "never seen"})
        assert_array_equal(forest.predict(unknown), forest.predict(missing))
        features = forest._read(unknown)[1]
        from_column = forest.encoder_.origin == list(frame).index(name)
        assert np.isnan(features[:, from_column]).all() and np.isfinite(features[:, ~from_column]).all()


def test_features_are_named_after_columns_and_levels():
    forest, frame, _ = fit("binary")
    frame.loc[0, ["size", "flag"]] = None
    expected = ["size", "colour=blue", "colour=green", "colour=red", "weight", "town:P(1)", "flag=yes"]
    assert forest._model.feature_names == expected
    assert forest.encoder_.origin.tolist() == [0, 1, 1, 1, 2, 3, 4]
    nodes = forest.to_dataframe()
    assert set(nodes["feature"].dropna()) <= set(expected)
    assert [name for name in nodes if name.startswith("slope_")] == [f"slope_{name}" for name in expected]
    again, *_ = fit("binary", data=(frame, table("binary")[1]), missing_indicator=True)
    assert again._model.feature_names == [
        *("size", "size is missing", "colour=blue", "colour=green", "colour=red", "weight"),
        *("town:P(1)", "flag=no", "flag=yes", "flag is missing"),
    ]
    regressor, *_ = fit("regression", max_one_hot=0)
    assert regressor._model.feature_names == ["size", "colour:mean", "weight", "town:mean", "flag:mean"]


def test_attributes_speak_of_the_users_columns():
    forest, frame, y = fit("multiclass", max_features="sqrt")
    assert forest.n_features_in_ == 5 and forest.feature_names_in_.tolist() == list(frame)
    assert forest.is_categorical_.tolist() == [False, True, False, True, True]
    assert forest.feature_importances_.shape == forest.slope_importances_.shape == (5,)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert forest.tree_params_[0]["max_features"] == int(np.sqrt(forest.encoder_.n_features))
    numbers = frame[["size", "weight"]]
    plain = BoostForestClassifier(3, preset="paper").fit(numbers, y)
    assert plain.is_categorical_ is None and plain.encoder_ is None


# -------------------------------------------------------------------------------------------------- means of the target


@pytest.mark.parametrize("task", FORESTS)
def test_means_of_levels_without_other_columns_are_those_of_scikit_learn(task):
    frame, y = table(task)
    for name in ("colour", "town", "flag"):
        forest, *_ = fit(task, max_one_hot=0, data=(frame[[name]], y))
        (column,) = forest.encoder_.columns
        if column.means is None:
            assert task == "multiclass" and name != "town"
            continue
        theirs = TargetEncoder(smooth=PRIOR_WEIGHT, target_type=task.replace("regression", "continuous"))
        expected = theirs.fit(frame[[name]], y).encodings_
        assert_allclose(column.means.T, expected, rtol=1e-12)
        assert column.levels == tuple(theirs.categories_[0])


PENALTY_OF_ONE = np.sqrt(PRIOR_WEIGHT)  # columns multiplied by this have a penalty of 1 on their slope


def ridge_means(frame, targets, weight, name):
    """Return what the levels of a column stand for, by scikit-learn's ridge on all columns; and the levels."""
    numbers = frame.select_dtypes("number")
    standard = ((numbers - numbers.mean()) / numbers.std(ddof=0)).clip(-5, 5).fillna(0)
    categories = [column for column in frame if column not in numbers]
    encoder = OneHotEncoder(sparse_output=False).fit(frame[categories])
    prior = np.average(targets, axis=0, weights=weight)
    ridge = Ridge(alpha=PRIOR_WEIGHT, fit_intercept=False)
    columns = np.hstack([PENALTY_OF_ONE * standard, encoder.transform(frame[categories])])
    ridge.fit(columns, targets - prior, sample_weight=weight / weight[weight > 0].mean())
    places = [i for i, label in enumerate(encoder.get_feature_names_out()) if label.startswith(f"{name}_")]
    return prior + ridge.coef_.reshape(targets.shape[1], -1)[:, numbers.shape[1] :][:, places].T


@pytest.mark.parametrize("task", FORESTS)
def test_means_of_levels_are_what_a_ridge_on_all_columns_leaves_to_them(task):
    frame, y = table(task)
    forest, *_ = fit(task, data=(frame, y), max_one_hot=0)
    targets = forest._model.loss.category_targets(forest._model.loss.encode(y))
    for j, column in forest.encoder_.categories.items():
        if column.means is not None:
            expected = ridge_means(frame, targets, np.ones(len(y)), frame.columns[j])
            assert_allclose(column.means, expected, rtol=1e-9)


def test_a_level_stands_for_its_own_effect_and_not_for_its_company():
    rng = np.random.default_rng(0)
    fine = rng.choice(list("abcde"), 500)  # a is the finest
    rank = np.array(["abcde".index(level) for level in fine])
    size = rank + 0.5 * rng.normal(size=500)  # and the smallest
    price = 3 * size - rank + 0.1 * rng.normal(size=500)
    plain = pd.Series(price).groupby(fine).mean()
    assert plain.is_monotonic_increasing  # the finest are the cheapest
    forest = paper_regressor(2).fit(pd.DataFrame({"size": size, "fine": fine}), price)
    means = forest.encoder_.columns[1].means[:, 0]
    assert (np.diff(means) < -0.4).all()  # at equal size they are dearest


def test_columns_of_more_levels_than_the_regression_has_room_for_get_means_of_what_it_leaves_over(monkeypatch):
    monkeypatch.setattr(levels, "MAX_COEFFICIENTS", 7)  # numbers, flag and colour, but no town
    (j,) = fit(data=(frame, y))[0].encoder_.categories.keys() - {1, 4}
    column = fit(data=(frame, y))[0].encoder_.columns[j]
    others = frame.drop(columns="town")
    standard = (others[["size", "weight"]] - others[["size", "weight"]].mean()) / others[["size", "weight"]].std(ddof=0)
    columns = np.hstack(
        [PENALTY_OF_ONE * standard, OneHotEncoder(sparse_output=False).fit_transform(others[["colour", "flag"]])]
    )
    rest = y - y.mean() - Ridge(alpha=PRIOR_WEIGHT, fit_intercept=False).fit(columns, y - y.mean()).predict(columns)
    groups = pd.Series(rest).groupby(frame["town"].to_numpy())
    assert_allclose(column.means[:, 0], y.mean() + groups.sum() / (groups.count() + PRIOR_WEIGHT), rtol=1e-9)
    monkeypatch.setattr(levels, "MAX_COEFFICIENTS", 1)  # not even the numbers
    groups = pd.Series(y - y.mean()).groupby(frame["town"].to_numpy())
    plain = fit(data=(frame, y))[0].encoder_.columns[j].means[:, 0]
    assert_allclose(plain, y.mean() + groups.sum() / (groups.count() + PRIOR_WEIGHT), rtol=1e-9)


def test_means_of_levels_are_the_same_however_many_rows_are_taken_at_once(monkeypatch):
    at_once = fit(data=(frame, y))[0].encoder_.columns[3].means
    monkeypatch.setattr(levels, "_BLOCK", 32)
    assert_allclose(fit(data=(frame, y))[0].encoder_.columns[3].means, at_once, rtol=1e-12)


def test_a_training_row_stands_for_the_mean_of_its_level_over_the_other_folds():
    frame, y = table(n=60)
    weight = np.random.default_rng(1).random(60)
    forest = BoostForestRegressor(2, random_state=3, max_one_hot=0, preset="paper").fit(frame, y, weight)
    targets = y[:, None]
    folds = fold_numbers(forest._model.entropy, 60, N_FOLDS)
    numbers = np.array([forest.encoder_.columns[3].levels.index(town) for town in frame["town"]], dtype=float)
    X = np.column_stack(
        [
            forest.encoder_.columns[j].encode(frame.iloc[:, j].tolist()) if j in (1, 3, 4) else frame.iloc[:, j]
            for j in range(5)
        ]
    )
    found = forest.encoder_.transform_training(X, targets, weight, folds)[:, 3]
    towns = pd.DataFrame({name: pd.Categorical(frame[name]) for name in ("colour", "town", "flag")})
    scaled = frame[["size", "weight"]] - np.average(frame[["size", "weight"]], axis=0, weights=weight)
    scaled = (scaled / np.sqrt(np.average(scaled**2, axis=0, weights=weight))).clip(-5, 5)
    columns = np.hstack([PENALTY_OF_ONE * scaled, pd.get_dummies(towns, dtype=float)])
    for fold in range(N_FOLDS):  # slowly, by the normal equations of the other rows
        here, others = folds == fold, folds != fold
        w = weight[others] / weight[others].mean()
        prior = np.average(y[others], weights=w)
        left = columns[others].T @ (w[:, None] * columns[others]) + PRIOR_WEIGHT * np.eye(columns.shape[1])
        slopes = np.linalg.solve(left, columns[others].T @ (w * (y[others] - prior)))
        assert_allclose(found[here], (prior + slopes[5:-2])[numbers[here].astype(int)], rtol=1e-9)
    assert sorted(np.bincount(folds)) == [12] * 5


def training_features(forest, frame, y):
    """Return the features that a forest was grown on."""
    model = forest._model
    X = np.column_stack([frame["x"], forest.encoder_.columns[1].encode(frame["id"].tolist())])
    targets = model.loss.category_targets(model.loss.encode(y))
    return model.features.transform_training(X, targets, None, model.entropy)


@given(st.integers(0, 39), st.floats(-1e6, 1e6))
@settings(max_examples=25, deadline=None)
def test_the_label_of_a_row_does_not_enter_its_own_feature(row, value):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "id": rng.choice(list("abcdef"), 40)})
    y = rng.normal(size=40)
    forest = paper_regressor(1, scale=False).fit(frame, y)
    changed = y.copy()
    changed[row] = value
    assert training_features(forest, frame, y)[row, 1] == training_features(forest, frame, changed)[row, 1]


@pytest.mark.parametrize("n_levels", [100, 400])
def test_levels_without_meaning_do_not_fool_the_out_of_bag_score(n_levels):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": [f"{i}" for i in rng.integers(n_levels, size=400)], "x": rng.normal(size=400)})
    y = rng.integers(2, size=400)
    forest = paper_classifier(60, oob_score=True).fit(frame, y)
    assert 0.4 < forest.oob_score_ < 0.6
    naive = frame.assign(id=pd.Series(y).groupby(frame["id"]).transform("mean"))  # each row's own label is in it
    assert paper_classifier(60, oob_score=True).fit(naive, y).oob_score_ > forest.oob_score_ + 0.1


def test_the_unit_of_weights_does_not_matter_and_rows_of_weight_zero_do_not_count():
    weight = np.r_[np.ones(100), np.zeros(50)]
    rest = np.where(weight > 0, y, 1e9)
    given = ((y, weight), (y, 1e-6 * weight), (rest, weight))
    means = [
        BoostForestRegressor(1, preset="paper").fit(frame, target, w).encoder_.columns[3].means for target, w in given
    ]
    assert_allclose(means[0], means[1], rtol=1e-12)
    assert_array_equal(means[0], means[2])


def test_many_classes_take_means_only_where_they_are_fewer_than_the_levels():
    frame, y = table("multiclass")
    forest = paper_classifier(2, max_one_hot=0).fit(frame, y)
    town, colour, flag = (forest.encoder_.columns[j] for j in (3, 1, 4))
    assert town.means.shape == (12, 3)
    assert colour.means is None and flag.means is None
    assert forest._model.feature_names[5:8] == ["town:P(0)", "town:P(1)", "town:P(2)"]


# -------------------------------------------------------------------------------------- everything else goes on working


@pytest.mark.filterwarnings("ignore:.* rows were drawn by every tree:UserWarning")
@pytest.mark.parametrize("task", FORESTS)
def test_a_warm_start_is_a_larger_forest(task):
    frame, y = table(task)
    frame.loc[::7, "town"] = None
    whole, *_ = fit(task, 8, data=(frame, y), oob_score=True, max_samples=0.5)
    grown, *_ = fit(task, 4, data=(frame, y), warm_start=True, max_samples=0.5, oob_score=True)
    grown.set_params(n_estimators=8).fit(frame, y)
    assert_array_equal(grown.forest_.params, whole.forest_.params)
    assert grown.oob_score_ == whole.oob_score_
    news = frame.assign(town="another town")  # unknown to the first fit: missing
    grown.set_params(n_estimators=9).set_params(oob_score=False).fit(news, y)
    assert grown.encoder_.n_features == whole.encoder_.n_features


@pytest.mark.parametrize("task", FORESTS)
def test_the_same_seed_gives_the_same_forest_for_any_threads_and_copies_predict_the_same(task):
    forest, frame, _ = fit(task, n_jobs=1)
    other, *_ = fit(task, n_jobs=2)
    assert_array_equal(forest.forest_.params, other.forest_.params)
    assert_array_equal(pickle.loads(pickle.dumps(forest)).predict(frame), forest.predict(frame))
    assert_array_equal(list(forest.staged_predict(frame))[-1], forest.predict(frame))
    tree = forest.get_tree(2)
    assert_array_equal(tree.apply(frame), forest.apply(frame)[:, 2])
    assert tree.get_params()["max_one_hot"] == 3
    assert forest.model_size_ > forest.forest_.nbytes


@pytest.mark.parametrize("cls", [BoostTreeRegressor, BoostTreeClassifier])
def test_trees_take_categories_too(cls):
    frame, y = table("binary")
    tree = cls(random_state=0).fit(frame, y)
    assert tree.score(frame, y) > (0.5 if cls is BoostTreeRegressor else 0.8)


# ------------------------------------------------------------------------------------------------- categorical_features


def test_columns_may_be_named_numbered_or_masked():
    codes = frame.assign(town=frame["town"].str[-2:].astype(int))
    by_type, *_ = fit(data=(codes.astype({"town": "category"}), y))
    names = ["colour", "town", "flag"]
    mask = [name in names for name in codes]
    for categorical in (names, (1, 3, 4), mask, np.array(mask), np.array([1, 3, 4]), pd.Index(names)):
        forest, *_ = fit(data=(codes, y), categorical_features=categorical)
        assert_array_equal(forest.predict(codes), by_type.predict(codes))
    assert fit(data=(codes, y))[0].is_categorical_.tolist() == [False, True, False, False, True]
    none, *_ = fit(data=(codes[["size", "town"]], y), categorical_features=None)
    assert none.encoder_ is None


def test_numbers_of_an_array_may_be_categories():
    codes = np.column_stack([frame["size"], frame["town"].str[-2:].astype(int)])
    forest = paper_regressor(5, categorical_features=[1]).fit(codes, y)
    named = frame[["size", "town"]]
    expected = paper_regressor(5).fit(named, y).predict(named)
    assert_array_equal(forest.predict(codes), expected)
    assert forest.encoder_.columns[1].levels == tuple(range(12))
    codes[3, 1] = np.nan
    assert np.isnan(forest._read(codes)[1][3, 1])
    objects = frame[["size", "town"]].to_numpy()
    for rows in (objects, objects.tolist()):
        forest = paper_regressor(5, categorical_features=[False, True]).fit(rows, y)
        assert_array_equal(forest.predict(rows), expected)


@pytest.mark.parametrize(
    ("categorical", "message"),
    [
        ("colour", 'must be "from_dtype", None, or a list'),
        (3, 'must be "from_dtype", None, or a list'),
        ([1.5], 'must be "from_dtype", None, or a list'),
        (["colour", 3], 'must be "from_dtype", None, or a list'),
        ([5], "must be columns from 0 to 4; got 5"),
        ([-1], "must be columns from 0 to 4; got -1"),
        ([True, False], "one value per column; got 2 for 5"),
        (["color"], "has the name 'color', which is not a column of X"),
    ],
    ids=str,
)
def test_categorical_features_that_make_no_sense_are_refused(categorical, message):
    with pytest.raises(ValueError, match=f"categorical_features .*{message}"):
        BoostForestRegressor(2, categorical_features=categorical, preset="paper").fit(frame, y)
    with pytest.raises(ValueError, match="X has no names"):
        BoostForestRegressor(2, categorical_features=["a"], preset="paper").fit(np.ones((30, 2)), np.ones(30))


# ------------------------------------------------------------------------------------------- properties of the encoding

LEVELS = st.one_of(
    st.sets(st.text(max_size=6), min_size=1, max_size=8),
    st.sets(st.integers(-(2**70), 2**70), min_size=1, max_size=8),
    st.sets(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
)


@given(LEVELS, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_levels_are_told_apart_and_what_is_unknown_is_missing(levels, missing, one_hot, random):
    levels = tuple(sorted(levels))
    column = CategoryColumn(levels, missing)
    if not one_hot:
        column = CategoryColumn(levels, missing, np.arange(2.0 * column.n_levels).reshape(-1, 2))
    values = [*levels, *[None] * missing]
    random.shuffle(values)
    features = column.features(column.encode(values))
    assert features.shape == (len(values), column.n_features)
    assert len(np.unique(features, axis=0)) == column.n_levels
    order = np.argsort(column.encode(values))
    assert_array_equal(features[order], column.features(np.arange(float(column.n_levels))))
    unseen = ["\x00 unseen"] + [None] * (not missing)
    assert np.isnan(column.features(column.encode(unseen))).all()


@given(st.permutations(range(5)), st.sampled_from(["pandas", "polars"]))
@settings(max_examples=20, deadline=None)
def test_columns_are_found_by_name_in_any_order(order, library):
    forest, frame, _ = FITTED
    shuffled = frame.iloc[:, list(order)]
    rows = shuffled if library == "pandas" else pl.DataFrame(shuffled.astype({"colour": str}))
    assert_array_equal(forest.predict(rows), forest.predict(frame))


FITTED = fit()


# -------------------------------------------------------------------------- levels that act together with other columns


def acting_together(kind, task="regression", n=600, seed=0):
    """Return a frame of two categories and a number, and a target in which levels differ as ``kind`` says."""
    rng = np.random.default_rng(seed)
    left, right, x = rng.integers(6, size=n), rng.integers(8, size=n), rng.normal(size=n)
    effects = {
        "pairs": np.cos(np.outer(np.arange(6), np.arange(8)) * np.pi / 3)[left, right],
        "slopes": np.linspace(-2, 2, 6)[left] * x,
        "alone": np.linspace(-2, 2, 6)[left] + rng.normal(size=8)[right] + x,
        "nothing": x,
    }
    frame = pd.DataFrame({"left": left.astype(str), "x": x, "right": [f"{i} right" for i in right]})
    y = effects[kind] + 0.2 * rng.normal(size=n)
    return frame, y if task == "regression" else np.digitize(
        y, np.quantile(y, [0.5] if task == "binary" else [0.3, 0.7])
    )


def ordered(forest):
    return [j for j, column in forest.encoder_.categories.items() if column.ordered]


@pytest.mark.parametrize("task", ["regression", "binary"])
@pytest.mark.parametrize(("kind", "found"), [("pairs", [0, 2]), ("slopes", [0]), ("alone", []), ("nothing", [])])
def test_levels_that_act_together_with_other_columns_are_told_apart(kind, found, task):
    for seed in range(3):
        frame, y = acting_together(kind, task, seed=seed)
        forest = FORESTS[task](2, random_state=0, preset="paper").fit(frame, y)
        assert ordered(forest) == found
        for j in found:
            orders = forest.encoder_.columns[j].means[:, -3:]
            assert_array_equal(np.sort(orders, axis=0), np.tile(np.arange(len(orders)), (3, 1)).T)
            assert_array_equal(orders[:, 0], np.arange(len(orders)))


@pytest.mark.parametrize("kind", ["pairs", "slopes"])
def test_forests_learn_what_levels_do_together_with_other_columns(kind):
    frame, y = acting_together(kind, n=1500)
    forest = BoostForestRegressor(random_state=0).fit(frame[:1000], y[:1000])
    assert np.std(forest.predict(frame[1000:]) - y[1000:]) < 0.45 * np.std(y[1000:])


def test_orders_are_features_of_their_column():
    frame, y = acting_together("pairs")
    forest = BoostForestRegressor(5, random_state=0, preset="paper").fit(frame, y)
    orders = [f"order {i}" for i in (1, 2, 3)]
    of_left, of_right = ([f"{name}:{feature}" for feature in ["mean", *orders]] for name in ("left", "right"))
    assert forest._model.feature_names == [*of_left, "x", *of_right]
    assert len(forest.feature_importances_) == 3
    explained = forest.explain(frame[:5], background=frame[:20])
    assert_allclose(explained.values.sum(axis=1) + explained.base_values, forest.predict(frame[:5]), rtol=1e-9)
    unknown = frame[:5].assign(left="new")
    assert np.isfinite(forest.predict(unknown)).all()


def test_what_levels_do_together_is_looked_for_by_weight():
    frame, y = acting_together("pairs", n=1200)
    weight = np.arange(1200) % 2
    y = np.where(weight == 1, frame["x"], y)
    forest = BoostForestRegressor(2, random_state=0, preset="paper")
    assert ordered(forest.fit(frame, y, sample_weight=weight)) == []
    assert ordered(forest.fit(frame, y, sample_weight=1 - weight)) == [0, 2]


# --------------------------------------------------------------------------------------------------------- many classes


def many_classes(n=400, n_classes=20, seed=0):
    """Return a frame whose towns have a class of their own each, mostly, in the order of the towns."""
    rng = np.random.default_rng(seed)
    towns = rng.integers(n_classes, size=n)
    other = rng.random(n) < 0.2
    y = np.where(other, rng.integers(n_classes, size=n), towns)
    frame = pd.DataFrame({"x": rng.normal(size=n), "town": [f"town {i:02d}" for i in towns]})
    return frame, y


@pytest.fixture
def few_features(monkeypatch):
    """Let a category have so few features that twenty classes share them; return how many."""
    monkeypatch.setattr(encoder, "MAX_TARGETS", 8)
    return 8


def test_many_classes_share_a_few_features_of_a_category(few_features):
    frame, y = many_classes()
    forest = paper_classifier(3).fit(frame, y)
    found = forest.encoder_
    assert found.basis.shape == (20, few_features) and found.n_features == 1 + few_features
    assert_allclose(found.basis.T @ found.basis, np.eye(few_features), atol=1e-9)
    assert forest._model.feature_names[1:3] == ["town:classes 1", "town:classes 2"]
    few = paper_classifier(3).fit(frame, y % few_features)
    assert few.encoder_.basis is None and few.encoder_.columns[1].means.shape[1] == few_features


@pytest.mark.usefixtures("few_features")
def test_the_features_of_many_classes_are_those_in_which_levels_differ_most():
    frame, y = many_classes()
    y = np.where(y < 2, y, 2 + np.random.default_rng(1).integers(18, size=len(y)))  # only two classes follow the towns
    forest = paper_classifier(3).fit(frame, y)
    assert (np.abs(forest.encoder_.basis[:2, :2]).sum(axis=1) > 0.6).all()


@pytest.mark.usefixtures("few_features")
def test_a_forest_of_many_classes_goes_on_with_the_features_of_its_first_fit(reloaded):
    frame, y = many_classes()
    forest = paper_classifier(2).fit(frame, y)
    loaded = reloaded(forest)
    assert_array_equal(loaded.encoder_.basis, forest.encoder_.basis)
    assert_array_equal(loaded.predict_proba(frame), forest.predict_proba(frame))
    assert_array_equal(pickle.loads(pickle.dumps(forest)).encoder_.basis, forest.encoder_.basis)
    more = loaded.set_params(n_estimators=4, warm_start=True).fit(frame, y)
    whole = paper_classifier(4).fit(frame, y)
    assert_array_equal(more.predict_proba(frame), whole.predict_proba(frame))


@pytest.mark.filterwarnings("ignore:The number of unique classes is greater than 50%:UserWarning")
def test_as_many_classes_as_rows_share_features_too():
    rng, n = np.random.default_rng(0), 600
    texts = {f"text{j}": [f"v{k}" for k in rng.permutation(n)] for j in range(2)}
    X, y = pd.DataFrame({"number": rng.normal(size=n), **texts}), np.array([f"${k}" for k in range(n)])
    forest = paper_classifier(1, max_depth=1, text="category").fit(X, y)
    assert len(forest._model.feature_names) == 1 + 2 * encoder.MAX_TARGETS
