"""Roles of columns: which may be split on, which enter the node models; names, numbers and masks; what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from boostforest import BoostForestRegressor
from boostforest._features.encoder import CategoryColumn, NumberColumn, TableEncoder
from boostforest._features.roles import read_roles
from boostforest.nodes import ELM, LinearSVR, Ridge
from model_files import GOLDEN, tensors_of, with_tensors
from models import FORESTS, TREES, contents, output
from test_bad_input import ALL, assert_refused
from test_inspection import scores_from_table
from twin import example_data

NAMES = ["age", "height", "dose", "room", "floor"]
ROLES = {"split_features": ["dose", "age"], "model_features": ["height", "dose", "floor"]}


def frame(task, n=120):
    """Return a table with names and units, and a target."""
    X, y = example_data(task, n=n, d=5)
    return pd.DataFrame(X * [1.0, 100.0, 0.01, 3.0, 1.0] + [0.0, 5.0, -2.0, 1e3, 1.0], columns=NAMES), y


X, y = frame("regression")


def fit(task, X, y, **params):
    """Return a small forest."""
    return FORESTS[task](**{"n_estimators": 6, "random_state": 0, **params}).fit(X, y)


# ---------------------------------------------------------------------------------------------------- what the roles do


@pytest.mark.parametrize("task", FORESTS)
def test_columns_are_only_used_in_their_roles(task):
    X, y = frame(task)
    forest = fit(task, X, y, **ROLES)
    assert set(forest.forest_.feature) == {-1, 0, 2}
    assert_array_equal(forest.feature_importances_ > 0, [True, False, True, False, False])
    assert_array_equal(forest.slope_importances_ != 0, [False, True, True, False, True])
    without = X.assign(room=np.random.default_rng(0).normal(size=len(X)))  # has no role
    assert_array_equal(fit(task, without, y, **ROLES).predict(without), forest.predict(X))
    assert len(forest.forest_.params) < 0.7 * len(fit(task, X, y).forest_.params)


@pytest.mark.parametrize("task", FORESTS)
def test_names_numbers_and_masks_mean_the_same(task):
    X, y = frame(task)
    expected = contents(fit(task, X, y, **ROLES))
    for split, model in [
        ((0, 2), [4, 1, 2]),
        (np.array([2, 0, 0]), np.array([1, 2, 4], dtype=np.uint8)),
        ([True, False, True, False, False], np.array([0, 1, 1, 0, 1], dtype=bool)),
        (pd.Index(["age", "dose"]), np.array(["floor", "dose", "height"])),
        (["age", 2], pd.Series(["height", "floor", "dose"])),
    ]:
        assert contents(fit(task, X, y, split_features=split, model_features=model)) == expected


@pytest.mark.parametrize("task", FORESTS)
def test_all_columns_in_both_roles_are_no_roles(task):
    X, y = frame(task)
    forest = fit(task, X, y, split_features=range(5), model_features=NAMES, monotonic_cst=dict.fromkeys(NAMES, 0))
    plain = fit(task, X, y)
    same = contents(plain)
    assert {name: array for name, array in contents(forest).items() if name in same} == same
    assert_array_equal(forest.predict(X), plain.predict(X))


@pytest.mark.parametrize("task", FORESTS)
def test_without_model_features_nodes_are_constants(task):
    X, y = frame(task)
    forest, constant = fit(task, X, y, model_features=[]), fit(task, X, y, node_model="constant")
    same = contents(constant)
    assert {name: array for name, array in contents(forest).items() if name in same} == same
    assert_array_equal(forest.predict(X), constant.predict(X))
    assert forest.forest_.linear_models().shape == constant.forest_.linear_models().shape
    assert_array_equal(forest.slope_importances_, 0)


def test_max_features_counts_the_columns_that_may_be_cut():
    pool = [None, 1.0, 0.5, "sqrt", 2, 9]
    forest = BoostForestRegressor(40, max_features=pool, split_features=NAMES[:3], random_state=0, preset="paper").fit(
        X, y
    )
    counts = {
        (str(drawn), tree["max_features"])
        for drawn, tree in zip(forest._model.params["max_features"], forest.tree_params_, strict=True)
    }
    assert counts == {("None", 3), ("1.0", 3), ("0.5", 1), ("sqrt", 1), ("2", 2), ("9", 3)}


@pytest.mark.parametrize("task", FORESTS)
def test_missing_values_in_one_role_do_not_touch_the_other(task):
    X, y = frame(task, n=200)
    X = X.mask(np.random.default_rng(0).random(X.shape) < [0.0, 0.3, 0.3, 0.3, 0.0])
    roles = {"split_features": ["age", "dose"], "model_features": ["height", "dose"], "missing_fill": "mean"}
    forest = fit(task, X, y, **roles)
    means = X.fillna(X.mean())
    same_routes = X.assign(height=means["height"], room=0.0)
    assert_allclose(forest.predict(same_routes), forest.predict(X))  # in models a missing value is the mean
    assert (forest.apply(means) != forest.apply(X)).any()


@pytest.mark.parametrize("task", FORESTS)
def test_gaps_are_guessed_from_columns_that_models_see(task):
    X, y = frame(task, n=200)
    X["floor"] += 2 * X["height"] / X["height"].std()
    X = X.mask(np.random.default_rng(0).random(X.shape) < [0.0, 0.3, 0.3, 0.0, 0.0])
    forest = fit(task, X, y, model_features=["height", "dose", "floor"], split_features=["age", "dose"])
    assert_array_equal(output(forest, X.assign(room=0.0)), output(forest, X))  # neither role: not used at all
    gap = X["height"].isna()
    assert (output(forest, X.assign(floor=X["floor"].where(~gap, 5.0)))[gap] != output(forest, X)[gap]).any()
    precision = forest.fill_[1:]
    assert precision[1, 4] != 0 and (precision[[0, 3]][:, [1, 2, 4]] == 0).all()


NODE_MODELS = [ELM(n_hidden=7), LinearSVR(C=0.5), Ridge(reg_lambda=2.0), LinearRegression()]


@pytest.mark.parametrize("node_model", NODE_MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("task", FORESTS)
def test_any_node_model_sees_its_columns_alone(task, node_model):
    X, y = frame(task)
    params = {**ROLES, "node_model": node_model, "oob_score": True, "n_estimators": 20, "max_depth": 2}
    forest = fit(task, X, y, **params)
    assert set(forest.forest_.feature) == {-1, 0, 2}
    output = forest.predict if task == "regression" else forest.predict_proba
    assert_array_equal(output(X.assign(room=7.0)), output(X))
    # Between two thresholds a column that may only be split on changes nothing, one that models see does.
    moved = X.assign(age=X["age"] + 1e-9)
    stays = (forest.apply(moved) == forest.apply(X)).all(axis=1)
    assert stays.any()
    assert_array_equal(output(moved)[stays], output(X)[stays])
    assert (output(X.assign(height=X["height"] + 10.0)) != output(X)).all(axis=None)
    assert contents(fit(task, X.assign(room=0.0), y, **params)) == contents(forest)


def test_python_models_in_a_forest_get_the_columns_that_trees_of_the_core_get():
    roles = {"split_features": ["age"], "model_features": ["dose", "height"]}
    forest = fit("regression", X, y, node_model=KNeighborsRegressor(3), **roles)
    assert {own.n_features_in_ for model in forest.forest_.models if model is not None for own in model} == {2}
    mixed = fit("regression", X, y, node_model=[LinearRegression(), "ridge"], n_estimators=8, **roles)
    assert 0 < mixed.forest_.in_python.sum() < 8 and np.isfinite(mixed.predict(X)).all()
    assert_allclose(np.mean([mixed.get_tree(i).predict(X) for i in range(8)], axis=0), mixed.predict(X))


def test_columns_are_found_by_name_whatever_their_order():
    forest = fit("regression", X, y, **ROLES, monotonic_cst={"height": 1})
    assert_array_equal(forest.predict(X[NAMES[::-1]]), forest.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        forest.predict(X.rename(columns={"dose": "dosis"}))


# ---------------------------------------------------------------------------------------------- what goes on from a fit


@pytest.mark.parametrize("task", FORESTS)
def test_trees_with_roles_travel_and_grow_on(task, reloaded):
    X, y = frame(task)
    roles = ROLES if task == "multiclass" else {**ROLES, "monotonic_cst": {"age": 1, "height": -1, "dose": 1}}
    models = ["ridge", "constant"] if "monotonic_cst" in roles else ["ridge", "elm", "svr"]
    pools = {**roles, "node_model": models, "oob_score": True, "n_estimators": 30}
    forest = fit(task, X, y, **pools | {"warm_start": True, "n_estimators": 20})
    loaded = reloaded(forest)
    whole = fit(task, X, y, **pools)
    for grown in (forest, loaded, pickle.loads(pickle.dumps(forest))):
        grown.set_params(n_estimators=30).fit(X, y)
        assert contents(grown) == contents(whole)
        assert_array_equal(grown.predict(X), whole.predict(X))
        assert grown.oob_score_ == whole.oob_score_ and grown.tree_params_ == whole.tree_params_
    trees = [whole.get_tree(i) for i in range(30)]
    assert all(tree.get_params()[name] == value for tree in trees for name, value in roles.items())
    means = np.mean([output(tree, X) for tree in trees], axis=0)
    assert_allclose(means, output(whole, X), rtol=1e-12)
    for tree in trees[:3]:
        assert contents(reloaded(tree)) == contents(tree)


@pytest.mark.parametrize(
    "change",
    [{"split_features": ["age"]}, {"model_features": None}, {"monotonic_cst": {"age": 1, "dose": -1}}],
    ids=str,
)
def test_a_warm_start_keeps_the_roles(change):
    X, y = frame("binary")
    forest = fit("binary", X, y, **ROLES, monotonic_cst={"age": 1}, warm_start=True)
    before = contents(forest)
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be what it was in the first fit with warm_start"):
        forest.set_params(n_estimators=9, **change).fit(X, y)
    assert contents(forest) == before


@pytest.mark.parametrize("clip", [True, False])
def test_a_forest_with_roles_can_be_followed_in_its_table(clip):
    forest = fit("regression", X, y, **ROLES, clip=clip)
    nodes = forest.to_dataframe()
    assert set(nodes["feature"].dropna()) == {"age", "dose"}
    assert (nodes[["slope_age", "slope_room"]].fillna(0) == 0).all(axis=None)
    assert_allclose(scores_from_table(nodes, X).mean(axis=0), forest.predict(X), rtol=1e-6)


def test_a_file_keeps_names_that_came_as_an_index_of_a_table(reloaded):
    forest = fit("regression", X, y, split_features=X.columns[:2], model_features=pd.Series(NAMES[2:]))
    loaded = reloaded(forest)
    assert loaded.split_features == NAMES[:2] and loaded.model_features == NAMES[2:]
    assert contents(loaded.fit(X, y)) == contents(forest)


ROLES_FILE, CONSTRAINED_FILE = (path.read_bytes() for name in ("v2-roles-multiclass", "v2-monotone-classifier")
                                for path in GOLDEN if path.stem == name)  # fmt: skip
DAMAGES = {
    "split feature unknown": (ROLES_FILE, {"split_features": [0, 3]}, "'split_features' must hold numbers of features"),
    "split features descend": (ROLES_FILE, {"split_features": [2, 0]}, "'split_features' must hold numbers"),
    "split feature negative": (ROLES_FILE, {"split_features": [-1, 2]}, "'split_features' must hold numbers"),
    "no split feature": (ROLES_FILE, {"split_features": []}, "'split_features' must hold numbers"),
    "model feature unknown": (ROLES_FILE, {"model_features": [0, 3]}, "model_features must ascend and be features"),
    "model feature twice": (ROLES_FILE, {"model_features": [1, 1]}, "model_features must ascend and be features"),
    "model features too many": (ROLES_FILE, {"model_features": [0, 1, 2]}, "hidden layer that fits"),
    "constraint unknown": (CONSTRAINED_FILE, {"monotonic_cst": [1, 2, 0]}, "monotonic_cst has values other than"),
    "constraints too few": (CONSTRAINED_FILE, {"monotonic_cst": [1, 1]}, "'monotonic_cst' must have the shape"),
    "paths are added up": (CONSTRAINED_FILE, {"sum_path": [True]}, "cannot keep constraints"),
    "node without a model": (CONSTRAINED_FILE, {"param_start": -1}, "param_start is not where"),
}


@pytest.mark.parametrize(("content", "damage", "reason"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_roles_in_a_file_are_refused(content, damage, reason, refuses_file):
    tensors = tensors_of(content)
    ((name, value),) = damage.items()
    dtype = tensors[name].dtype
    value = np.where(tensors["feature"] < 0, tensors[name], value) if np.ndim(value) == 0 else value
    refuses_file(with_tensors(content, **{name: np.array(value, dtype=dtype)}), f"cannot be loaded: .*{reason}")


# --------------------------------------------------- what is refused. X of test_bad_input has four columns and no names


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("name", ["split_features", "model_features"])
def test_columns_that_are_none_are_refused(cls, name):
    for given in ("age", 3, {"age": 1}, [4], [-1], [1.0], [None], [[0, 1]], np.ones((2, 2), dtype=int), [0, True]):
        assert_refused(
            cls, f"^{name} must be None, or a sequence of column names, of numbers from 0 to 3", {name: given}
        )
    assert_refused(cls, f"^{name} is a mask of 3 values, but X has 4 columns", {name: [True, False, True]})
    assert_refused(cls, f"^{name} names the column 'age', but X has no column names", {name: ["age"]})


@pytest.mark.parametrize("cls", ALL)
def test_a_tree_that_may_cut_nothing_is_refused(cls):
    for nothing in ([], np.zeros(4, dtype=bool)):
        assert_refused(cls, "^split_features must name at least one column; got none", {"split_features": nothing})


@pytest.mark.parametrize("cls", ALL)
def test_constraints_that_are_none_are_refused(cls):
    for given in (1, "age", [1, 0], [1] * 5, [[1, 0, 0, 0]]):
        assert_refused(cls, "^monotonic_cst must be None, a sequence of -1, 0 or 1 for each of the 4 columns of X", {
            "monotonic_cst": given})  # fmt: skip
    for value in (2, 0.5, True, None, "1", np.nan):
        assert_refused(cls, "^monotonic_cst must hold -1, 0 or 1; got", {"monotonic_cst": [1, 0, 0, value]})
    assert_refused(cls, "^monotonic_cst names the column 'age', but X has no", {"monotonic_cst": {"age": 1}})


def test_a_name_that_the_table_lacks_is_refused():
    for name, given in [("split_features", ["age", "x"]), ("model_features", ["x"]), ("monotonic_cst", {"x": 1})]:
        with pytest.raises(ValueError, match=f"^{name} names the column 'x', which X does not have"):
            fit("regression", X, y, **{name: given})


@pytest.mark.parametrize("kind", [TREES, FORESTS], ids=["tree", "forest"])
def test_constraints_on_more_than_two_classes_are_refused(kind):
    X, y = frame("multiclass")
    with pytest.raises(ValueError, match=r"^monotonic_cst needs a regression or two classes; y has 3 classes"):
        kind["multiclass"](monotonic_cst=[0, 0, 1, 0, 0]).fit(X, y)
    kind["multiclass"](monotonic_cst=[0] * 5).fit(X, y)  # says nothing


@pytest.mark.parametrize("node_model", ["elm", LinearSVR(), LinearRegression()], ids=str)
def test_node_models_that_cannot_keep_constraints_are_refused(node_model):
    with pytest.raises(ValueError, match=r"^monotonic_cst needs node_model 'constant' or 'ridge'; got (ELM|Linear)"):
        fit("regression", X, y, monotonic_cst=[1, 0, 0, 0, 0], node_model=["constant", node_model])
    fit("regression", X, y, monotonic_cst=[1, 0, 0, 0, 0], node_model=[Ridge(reg_lambda=2.0), "constant"])


def test_models_in_python_need_a_column():
    with pytest.raises(ValueError, match=r"^model_features must name at least one column for node_model=LinearRegr"):
        fit("regression", X, y, model_features=[], node_model=LinearRegression())


# ----------------------------------------------------------------------------- columns of the user, columns of the core


ENCODER = TableEncoder((NumberColumn(indicator=True), CategoryColumn(("x", "y", "z"), False), NumberColumn()))


def roles_of(encoder=ENCODER, **given):
    """Return the roles of the features that are made from three columns: two, three and one."""
    names = ("split_features", "model_features", "monotonic_cst", "interaction_cst")
    return read_roles(dict.fromkeys(names) | given, 3, np.array(["a", "b", "c"], dtype=object), encoder)


def test_roles_pass_to_all_features_of_a_column_and_order_to_its_values():
    roles = roles_of(split_features=["a"], model_features=[1, 2], monotonic_cst={"c": -1, "a": 1})
    assert_array_equal(roles.split_features, [0, 1])
    assert_array_equal(roles.model_features, [2, 3, 4, 5])
    assert_array_equal(roles.monotonic_cst, [1, 0, 0, 0, 0, -1])  # a missing indicator is outside of the order
    assert roles.split_features.dtype == roles.model_features.dtype == np.int32 and roles.monotonic_cst.dtype == np.int8
    nothing = dict.fromkeys(("split_features", "model_features", "monotonic_cst", "interactions"))
    assert vars(roles_of()) == vars(roles_of(split_features=["c", "b", "a"], monotonic_cst=[0, 0, 0])) == nothing


def test_categories_have_roles_but_no_order():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=150), "town": rng.choice(list("abc"), 150), "street": rng.choice(
        [f"s{i}" for i in range(9)], 150)})  # fmt: skip
    y = X["size"] * (X["town"] == "a") + rng.normal(size=150)
    forest = fit("regression", X, y, split_features=["town", "street"], model_features=["size", "street"])
    assert forest.forest_.n_features == 5
    assert_array_equal(forest.forest_.split_features, [1, 2, 3, 4])
    assert_array_equal(forest.feature_importances_ > 0, [False, True, True])
    assert_array_equal(forest.slope_importances_ != 0, [True, False, True])
    assert forest.tree_params_[0]["max_features"] == 4
    fit("regression", X, y, monotonic_cst={"size": 1})
    with pytest.raises(ValueError, match=r"^monotonic_cst cannot constrain column 'town': its categories"):
        fit("regression", X, y, monotonic_cst={"town": 1})
    array = np.column_stack([X["size"], X["town"].map(ord)])
    with pytest.raises(ValueError, match=r"^monotonic_cst cannot constrain column 1: its categories have no order"):
        fit("regression", array, y, monotonic_cst=[1, -1], categorical_features=[1])
