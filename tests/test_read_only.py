"""The columns of fitted trees cannot be written to: the core checks them once, and then follows every index."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression

from boostforest import BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from boostforest._model.columns import ForestColumns
from boostforest.model_trees import LMTClassifier, M5PRegressor, SimpleLogisticClassifier
from boostforest.nodes import ELM
from models import paper_classifier, paper_regressor
from twin import example_data

X, y = example_data("regression", n=80)

ROLES = {"split_features": [0, 1], "model_features": [0, 2], "monotonic_cst": [1, 0, 0, 0]}
MODELS = {
    "tree": (BoostTreeRegressor(random_state=0), "regression", "forest_"),
    "class tree": (BoostTreeClassifier(random_state=0), "multiclass", "forest_"),
    "forest": (paper_regressor(3, node_model=["ridge", ELM(3)]), "regression", "forest_"),
    "class forest": (paper_classifier(3, dtype="float16"), "binary", "forest_"),
    "roles": (paper_regressor(3, **ROLES), "regression", "forest_"),
    "stages": (paper_regressor(40, n_stages=2), "regression", "forest_"),
    "Python": (
        BoostForestRegressor(2, node_model=[LinearRegression(), "ridge"], random_state=3, preset="paper"),
        "regression",
        "forest_",
    ),
    "M5P": (M5PRegressor(), "regression", "tree_"),
    "LMT": (LMTClassifier(random_state=0), "multiclass", "tree_"),
    "SimpleLogistic": (SimpleLogisticClassifier(random_state=0), "binary", "tree_"),
}


def arrays_of(columns):
    """Return all arrays of an object, those that are computed and kept among them."""
    if isinstance(columns, ForestColumns):
        assert columns.depth.size == columns.parent.size == columns.tree_of_node.size == columns.param_start.size
    arrays = {name: value for name, value in vars(columns).items() if isinstance(value, np.ndarray)}
    assert len(arrays) >= 9
    return arrays


def assert_read_only(columns):
    for name, array in arrays_of(columns).items():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        assert not array.flags.writeable, name


def by_joblib(model, folder, mmap_mode):
    joblib.dump(model, folder / "model")
    return joblib.load(folder / "model", mmap_mode=mmap_mode)


COPIES = {
    "fitted": lambda model, folder: model,
    "copy": lambda model, folder: copy.copy(model),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "old pickle": lambda model, folder: pickle.loads(pickle.dumps(model, protocol=2)),
    "joblib": lambda model, folder: by_joblib(model, folder, None),
    "joblib r": lambda model, folder: by_joblib(model, folder, "r"),
    "joblib r+": lambda model, folder: by_joblib(model, folder, "r+"),
    "joblib c": lambda model, folder: by_joblib(model, folder, "c"),
}


@pytest.mark.parametrize("name", MODELS)
def test_columns_are_read_only_however_a_model_came_to_be(name, tmp_path):
    estimator, task, attribute = MODELS[name]
    X, y = example_data(task, n=80)
    fitted = estimator.fit(X, y)
    for way, copied in COPIES.items():
        model = copied(fitted, tmp_path)
        assert_read_only(getattr(model, attribute))
        assert_array_equal(model.predict(X), fitted.predict(X), err_msg=way)


def test_columns_are_read_only_after_files_parts_and_warm_starts(reloaded):
    forest = paper_regressor(3, node_model=["ridge", ELM(3)], warm_start=True).fit(X, y)
    loaded = reloaded(forest)
    columns = forest.forest_
    grown = copy.deepcopy(forest).set_params(n_estimators=5).fit(X, y)
    joined = columns.concatenate([columns, columns])
    for some in (loaded.forest_, columns.take(1), joined, columns.astype("float32"), grown.forest_,
                 forest.get_tree(0).forest_):  # fmt: skip
        assert_read_only(some)
    assert_array_equal(loaded.predict(X), forest.predict(X))


def test_writing_to_a_checked_column_is_refused_before_prediction_could_follow_it():
    forest = paper_regressor(3).fit(X, y)
    expected = forest.predict(X)
    for value in (10**9, 0, -1):
        with pytest.raises(ValueError, match="read-only"):
            forest.forest_.left[:] = value
    assert_array_equal(forest.predict(X), expected)


def test_the_users_own_arrays_stay_writable():
    roles = {name: np.array(value) for name, value in ROLES.items()}
    weight = np.ones(80)
    forest = paper_regressor(3, **roles).fit(X, y, weight)
    M5PRegressor().fit(X, y, weight)
    assert all(array.flags.writeable for array in (X, y, weight, *roles.values()))
    indicator, starts = forest.decision_path(X)
    starts[0] = indicator.data[0] = 5  # copies of the forest's
    assert forest.forest_.tree_start[0] == 0


def test_a_pickle_of_columns_that_were_writable_is_read_only_as_well():
    columns = paper_regressor(2).fit(X, y).forest_
    state = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in vars(columns).items()}
    restored = ForestColumns.__new__(ForestColumns)
    restored.__setstate__({name: state[name] for name in columns.__getstate__()})
    assert_read_only(restored)
    buffer = io.BytesIO(pickle.dumps(restored))
    assert_read_only(pickle.load(buffer))
