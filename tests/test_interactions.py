"""``interaction_cst``: predictions are sums of functions of columns that may act together."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor, nodes
from models import paper_regressor

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 4))
Y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2 / 2 + 0.1 * RNG.normal(size=N)
FRAME = pd.DataFrame(X, columns=list("abcd"))


def interaction(score, i, j, n_columns=4):
    """Return the largest second difference of a score in two columns."""
    rows = np.random.default_rng(1).normal(size=(60, n_columns))
    moved = [rows.copy() for _ in range(3)]
    moved[0][:, i] += 1.3
    moved[1][:, j] -= 0.9
    moved[2][:, [i, j]] += [1.3, -0.9]
    return np.abs(score(rows) + score(moved[2]) - score(moved[0]) - score(moved[1])).max()


def assert_only_pairs(score, allowed):
    """Check which two of four columns interact."""
    for pair in itertools.combinations(range(4), 2):
        found = interaction(score, *pair)
        assert found > 1e-3 if pair in allowed else found < 1e-9, pair


MODELS = {
    "tree": BoostTreeRegressor(random_state=0),
    "constant": BoostTreeRegressor(node_model="constant", random_state=0),
    "svr": BoostTreeRegressor(node_model="svr", random_state=0),
    "batches": BoostTreeRegressor(batch_size=60, random_state=0),
    "few features": BoostTreeRegressor(max_features=2, n_cuts=3, random_state=0),
    "leaves": BoostTreeRegressor(max_leaf_nodes=12, random_state=0),
    "clip": BoostTreeRegressor(clip=True, random_state=0),
    "paper": paper_regressor(20),
    "best": BoostForestRegressor(40, random_state=0),
    "roles": BoostTreeRegressor(split_features=[0, 1], model_features=[1, 2, 3], random_state=0),
    "huber": paper_regressor(10, loss="huber"),
}


@pytest.mark.parametrize("name", MODELS)
def test_without_interactions_a_prediction_is_a_sum_over_columns(name):
    fitted = MODELS[name].set_params(interaction_cst="no_interactions").fit(X, Y)
    assert_only_pairs(fitted.predict, set())
    assert fitted.predict(X).std() > 0.1


@pytest.mark.parametrize("name", ["tree", "constant", "paper", "best"])
def test_columns_of_a_set_act_together_and_those_in_no_set_do_too(name):
    fitted = MODELS[name].set_params(interaction_cst=[{0, 1}]).fit(X, Y)
    assert interaction(fitted.predict, 0, 1) > 1e-3
    for i, j in itertools.product((0, 1), (2, 3)):
        assert interaction(fitted.predict, i, j) < 1e-9


def test_sets_may_share_columns():
    forest = paper_regressor(40, interaction_cst=[[0, 1], (1, 2), {3}]).fit(X, Y)
    assert_only_pairs(forest.predict, {(0, 1), (1, 2)})


def third_difference(score):
    rows = np.random.default_rng(1).normal(size=(60, 4))
    total = np.zeros(60)
    for signs in itertools.product((0, 1), repeat=3):
        moved = rows.copy()
        moved[:, :3] += np.multiply(signs, [1.3, -0.9, 1.1])
        total += (-1) ** sum(signs) * score(moved)
    return np.abs(total).max()


def test_pairs_interact_and_three_columns_do_not():
    y = Y + X[:, 0] * X[:, 1] * X[:, 2]
    pairs = BoostForestRegressor(40, interaction_cst="pairwise", random_state=0).fit(X, y)
    assert interaction(pairs.predict, 0, 1) > 1e-3
    assert third_difference(pairs.predict) < 1e-9
    assert third_difference(BoostForestRegressor(40, random_state=0).fit(X, y).predict) > 1e-3


def test_sets_of_all_pairs_are_pairwise():
    tree = BoostTreeRegressor(random_state=0)
    pairs = tree.set_params(interaction_cst="pairwise").fit(X, Y).predict(X)
    listed = tree.set_params(interaction_cst=list(itertools.combinations(range(4), 2))).fit(X, Y).predict(X)
    assert_array_equal(pairs, listed)


def test_scores_of_trees_are_sums_for_classes_too():
    classes = (np.digitize(Y, [-0.5, 0.8])).astype(str)
    for y in (Y > 0.5, classes):
        tree = BoostTreeClassifier(interaction_cst="no_interactions", random_state=0).fit(X, y)
        for pair in itertools.combinations(range(4), 2):
            assert interaction(tree.decision_function, *pair) < 1e-9
    boosted = BoostForestClassifier(40, interaction_cst=[{0, 1}, {2}, {3}], random_state=0).fit(X, Y > 0.5)
    assert boosted.predict_proba(X).shape == (N, 2)


def test_missing_values_do_not_speak_for_other_columns():
    gaps = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    forest = paper_regressor(20, interaction_cst="no_interactions").fit(gaps, Y)
    assert forest.fill_ is None
    rows = np.random.default_rng(1).normal(size=(60, 4))
    without, moved = rows.copy(), rows.copy()
    without[:, 2] = np.nan
    moved[:, 0] += 1.0
    both = without.copy()
    both[:, 0] += 1.0
    change = forest.predict(rows) + forest.predict(both) - forest.predict(without) - forest.predict(moved)
    assert np.abs(change).max() < 1e-9


def test_columns_go_by_name_and_categories_are_one_column(reloaded):
    frame = FRAME.assign(town=[f"t{i % 7}" for i in range(N)], kind=["x", "y", "z", "z"] * (N // 4))
    y = Y + (frame["town"] == "t3") * X[:, 0]
    sets = [{"a", "town"}, {"b", "kind"}]
    tree = BoostTreeRegressor(interaction_cst=sets, random_state=0).fit(frame, y)
    rest = list(frame.columns)
    numbered = [[rest.index(name) for name in group] for group in sets]
    again = BoostTreeRegressor(interaction_cst=numbered, random_state=0).fit(frame, y)
    assert_array_equal(tree.predict(frame), again.predict(frame))
    loaded = reloaded(tree)
    assert_array_equal(loaded.predict(frame), tree.predict(frame))
    assert [set(group) for group in loaded.interaction_cst] == sets


def test_the_same_forest_for_any_number_of_threads():
    forests = [BoostForestRegressor(40, interaction_cst="pairwise", n_jobs=n, random_state=0).fit(X, Y) for n in (1, 3)]
    assert_array_equal(forests[0].forest_.params, forests[1].forest_.params)


def test_one_set_of_all_columns_is_no_constraint_on_splits():
    free = paper_regressor(10, interaction_cst=[range(4)]).fit(X, Y)
    assert interaction(free.predict, 0, 2) > 1e-3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("triples", 'interaction_cst must be None, "pairwise", "no_interactions", or a sequence of sets'),
        (3, "interaction_cst must be None, .* got 3"),
        ([0, 1], r"interaction_cst must be None, .* got \[0, 1\]"),
        (["ab"], "interaction_cst must be None"),
        ([{0, 9}], "interaction_cst must hold column names or numbers from 0 to 3; got 9"),
        ([{-1}], "numbers from 0 to 3; got -1"),
        ([{True}], "got True"),
        ([{"e"}], "interaction_cst names the column 'e', which X does not have"),
    ],
)
def test_bad_sets_are_refused_with_one_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        BoostTreeRegressor(interaction_cst=given).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"node_model": "elm"}, "interaction_cst needs node_model 'constant', 'ridge' or 'svr'; got"),
        ({"node_model": nodes.ELM(5)}, "interaction_cst needs node_model"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst and interaction_cst do not go together"),
    ],
)
def test_what_mixes_columns_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BoostTreeRegressor(interaction_cst="pairwise", **arguments).fit(X, Y)
    with pytest.raises(ValueError, match="but X has no column names"):
        BoostTreeRegressor(interaction_cst=[{"a"}]).fit(X, Y)


def test_defaults_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BoostForestRegressor(40, interaction_cst=[], random_state=0).fit(X, Y)
