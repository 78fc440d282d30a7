"""Columns of model files in fewer bytes: the same columns come back, and what was made up does no harm."""

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from boostforest import BoostForestClassifier, BoostForestRegressor, _core, load_model
from boostforest._files import coding
from model_files import GOLDEN, split, tensors_of, with_metadata, with_tensors
from test_dtype import FORESTS, SETTINGS, fit, output
from twin import example_data

CODED = [path.read_bytes() for path in GOLDEN if path.stem.startswith("v3-coded")]
RUNS = [path.read_bytes() for path in GOLDEN if path.stem.startswith("v4-runs")]


@pytest.fixture
def everything_coded(monkeypatch):
    """Code columns however short they are, and whether or not it pays."""
    monkeypatch.setattr(coding, "_SMALL", 0)
    monkeypatch.setattr(coding, "_GAIN", np.inf)


# ---------------------------------------------------------------------------------------------------- the entropy coder


@given(symbols=st.binary(max_size=300), n_contexts=st.integers(1, 4), data=st.data())
@settings(max_examples=100, deadline=None)
def test_bytes_come_back(symbols, n_contexts, data):
    symbols = np.frombuffer(symbols, dtype=np.uint8)
    contexts = np.array(
        data.draw(st.lists(st.integers(0, n_contexts - 1), min_size=len(symbols), max_size=len(symbols)))
    )
    contexts = contexts.astype(np.uint8)
    coded = _core.encode_bytes(symbols, contexts, n_contexts)
    assert_array_equal(_core.decode_bytes(coded, len(symbols), contexts, n_contexts), symbols)


@pytest.mark.parametrize("spread", [0.2, 1, 5, 30])
def test_bytes_take_as_many_bits_as_their_entropy(spread):
    symbols = np.random.default_rng(0).normal(scale=spread, size=50_000).round().astype(np.int8).view(np.uint8)
    shares = np.bincount(symbols) / len(symbols)
    entropy = -np.sum(shares * np.log2(shares, where=shares > 0, out=np.zeros_like(shares)))
    coded = _core.encode_bytes(symbols, None, 1)
    assert len(coded) < 1.005 * entropy * len(symbols) / 8 + 2 * (shares > 0).sum() + 20


def test_contexts_pay_where_they_tell_something():
    rng = np.random.default_rng(0)
    contexts = rng.integers(0, 4, 20_000).astype(np.uint8)
    symbols = (16 * contexts + rng.integers(0, 4, 20_000)).astype(np.uint8)
    alone, by_context = _core.encode_bytes(symbols, None, 1), _core.encode_bytes(symbols, contexts, 4)
    assert len(by_context) < 0.52 * len(alone)


def test_damaged_streams_are_refused_or_give_as_many_bytes():
    rng = random.Random(0)
    symbols = np.frombuffer(rng.randbytes(200) + bytes(300), dtype=np.uint8)
    stream = bytes(_core.encode_bytes(symbols, None, 1))
    refused = 0
    for _ in range(500):
        damaged = bytearray(stream)
        for _ in range(rng.choice([1, 1, 5])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        damaged = damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])]
        try:
            assert len(_core.decode_bytes(np.frombuffer(damaged, dtype=np.uint8), 500, None, 1)) == 500
        except ValueError:
            refused += 1
    assert refused > 400


# --------------------------------------------------------------------------------------------------------- whole models


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8"])
@pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("task", FORESTS)
@pytest.mark.filterwarnings("ignore:min_samples_leaf")
@pytest.mark.usefixtures("everything_coded")
def test_a_coded_model_is_the_same_to_the_bit(task, params, dtype, tmp_path):
    if task == "multiclass" and "monotonic_cst" in params:
        pytest.skip("constraints need one output")
    forest, X = fit(task, dtype, **params)
    forest.save_model(tmp_path / "a")
    stored = tensors_of((tmp_path / "a").read_bytes())
    assert {"coded.left", "coded.threshold"} <= stored.keys() and ("coded.params" in stored) == (dtype != "float64")
    loaded = load_model(tmp_path / "a")
    for name, column in forest.forest_.arrays().items():
        own = getattr(loaded.forest_, name)
        assert own.dtype == column.dtype
        assert_array_equal(own, column, err_msg=name)
    assert_array_equal(output(loaded, X), output(forest, X))


@pytest.mark.parametrize("forest", [BoostForestRegressor, BoostForestClassifier])
def test_files_of_int8_are_a_fraction_of_the_memory(forest, tmp_path):
    X, y = example_data("regression", n=500, d=20)
    y = y if forest is BoostForestRegressor else np.digitize(y, np.quantile(y, [0.3, 0.6]))
    fitted = forest(20, dtype="int8", random_state=0).fit(X, y)
    exact = forest(20, dtype="float64", random_state=0).fit(X, y)
    fitted.save_model(tmp_path / "a")
    size = (tmp_path / "a").stat().st_size
    assert size < 0.6 * fitted.model_size_ and size < 0.15 * exact.model_size_


def test_small_files_have_nothing_coded_and_the_version_before(tmp_path):
    forest, _ = fit("regression", "float64", bootstrap=False)
    forest.save_model(tmp_path / "a")
    header, _ = split((tmp_path / "a").read_bytes())
    assert header["__metadata__"]["format_version"] == "2" and not any(name.startswith("coded") for name in header)


def test_trees_grown_best_first_keep_the_order_of_their_nodes(tmp_path, everything_coded):
    X, y = example_data("regression", n=200)
    for leaves, way in ((None, coding._STRUCTURE), (9, coding._PLAIN)):
        forest = BoostForestRegressor(5, max_leaf_nodes=leaves, random_state=0, preset="paper").fit(X, y)
        forest.save_model(tmp_path / "a")
        assert tensors_of((tmp_path / "a").read_bytes())["coded.left"][0] == way
        assert_array_equal(load_model(tmp_path / "a").forest_.left, forest.forest_.left)


@pytest.mark.parametrize("content", RUNS, ids=range(len(RUNS)))
def test_the_same_columns_give_the_same_bytes_everywhere(content, everything_coded):
    stored = tensors_of(content)
    text = split(content)[0]["__metadata__"]["coded"]
    again, table = coding.encode_columns(coding.decode_columns(stored, text))
    assert again.keys() == stored.keys()
    for name, array in stored.items():
        assert_array_equal(again[name], array, err_msg=name)
    assert sorted(table) == sorted(text)


@pytest.mark.parametrize("content", CODED, ids=range(len(CODED)))
def test_columns_that_were_coded_before_there_were_runs_can_be_coded_anew(content, everything_coded):
    before = coding.decode_columns(tensors_of(content), split(content)[0]["__metadata__"]["coded"])
    after = coding.decode_columns(*coding.encode_columns(before))
    assert after.keys() == before.keys()
    for name, array in before.items():
        assert_array_equal(after[name], array, err_msg=name)


def boosted_forest(dtype="int8"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = 4 * (X[:, 0] > 0) * (X[:, 1] > 0.3) + 3 * (X[:, 2] > 0.5) + 0.3 * rng.normal(size=300)
    return BoostForestRegressor(20, boost=True, preset="paper", dtype=dtype, random_state=0).fit(X, y), X


@pytest.mark.parametrize("dtype", ["float64", "int8"])
def test_boosted_trees_have_seeds_rows_and_parameters_once_per_bag(dtype, tmp_path):
    forest, X = boosted_forest(dtype)
    forest.save_model(tmp_path / "a")
    content = (tmp_path / "a").read_bytes()
    header, _ = split(content)
    stored, n_trees = tensors_of(content), forest.forest_.n_trees
    assert n_trees > 300 and header["__metadata__"]["format_version"] == "5"
    per_tree = stored["coded.absent"].nbytes + stored["coded.tree_seeds"].nbytes + stored["coded.tree_start"].nbytes
    assert per_tree < 6 * n_trees and len(header["__metadata__"]["tree_params"]) < 3 * n_trees
    loaded = load_model(tmp_path / "a")
    assert loaded._model.params == forest._model.params
    assert_array_equal(loaded._model.seeds, forest._model.seeds)
    assert_array_equal(loaded.predict_interval(X), forest.predict_interval(X))


def test_the_nodes_of_boosted_trees_take_a_bit_each_and_their_levels_a_split(tmp_path):
    forest, _ = boosted_forest()
    forest.save_model(tmp_path / "a")
    stored = tensors_of((tmp_path / "a").read_bytes())
    assert stored["coded.left"][0] == coding._STRUCTURE
    assert stored["coded.threshold"][0] == coding._TABLE
    assert len(stored["coded.threshold"]) < 2 * (forest.forest_.feature >= 0).sum()


@pytest.mark.parametrize("runs", [[], [1], ["linear", 0], ["linear", 10**12], ["linear", -1, "linear", 2], [1, 1.5], 3])
def test_runs_of_parameters_must_have_all_trees_together(runs, tmp_path):
    text = coding.parse_json(split(RUNS[0])[0]["__metadata__"]["tree_params"], "tree_params")
    path = tmp_path / "bad"
    path.write_bytes(with_metadata(RUNS[0], tree_params=coding.to_json(text | {"node_model": {"runs": runs}})))
    with pytest.raises(ValueError, match=r"the runs of node_model must have .* trees together"):
        load_model(path)


def test_damaged_runs_are_refused_or_give_a_model(tmp_path):
    rng, path, refused = random.Random(0), tmp_path / "bad", 0
    stored = tensors_of(RUNS[0])
    coded = [name for name in stored if name.startswith("coded.") and stored[name][0] >= coding._RUNS]
    assert {"coded.threshold", "coded.absent", "coded.tree_start", "coded.n_samples"} <= set(coded)
    for _ in range(300):
        name = rng.choice(coded)
        damaged = stored[name].copy()
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(with_tensors(RUNS[0], **{name: damaged}))
        try:
            load_model(path)
        except ValueError:
            refused += 1
    assert refused > 150


# ------------------------------------------------------------------------------------------------------ what is refused

INT8 = next(c for c in CODED if b"BoostForestRegressor" in c)


def claimed(**entries):
    """Return a file that claims other sizes for its coded columns."""
    metadata = split(INT8)[0]["__metadata__"]["coded"]
    return with_metadata(INT8, coded=coding.to_json(coding.parse_json(metadata, "coded") | entries))


def tensor(name, **changes):
    array = tensors_of(INT8)[name].copy()
    for place, value in changes.items():
        array[int(place[1:])] = value
    return with_tensors(INT8, **{name: array})


BAD = {
    "no list": (with_metadata(INT8, coded=None), "metadata 'coded' must name the tensors that are coded"),
    "not JSON": (with_metadata(INT8, coded="{"), "metadata 'coded' is not JSON"),
    "a list": (with_metadata(INT8, coded="[]"), "must name the tensors"),
    "a column that is not there": (claimed(threshold2=["F64", 3]), "must name the tensors"),
    "an absurd size": (claimed(params=["I8", 10**13]), "'coded.params' is too short for 10000000000000 values"),
    "a negative size": (claimed(params=["I8", -1]), "'coded.params' is too short for -1 values"),
    "half a size": (claimed(params=["I8", 0.5]), "must give type and number of values of 'params'"),
    "no size": (claimed(params="I8"), "must give type and number of values of 'params'"),
    "truths": (claimed(missing_left=["BOOL", 9]), "must give type and number of values of 'missing_left'"),
    "another number of nodes": (claimed(left=["I32", 8]), "the nodes do not make trees|a bit for each node|tree_start"),
    "another number of parameters": (claimed(params=["I8", 8]), "the shapes of the models do not fit"),
    "another type": (claimed(gain=["F64", 9]), "coded"),
    "twice": (with_tensors(INT8, gain=np.zeros(3, dtype=np.float32)), "'coded.gain' must stand for a column, and once"),
    "two dimensions": (
        with_tensors(INT8, **{"coded.gain": tensors_of(INT8)["coded.gain"][None]}),
        r"'coded.gain' must have the shape \(\d+,\); got \(1, ",
    ),
    "an unknown way": (tensor("coded.gain", _0=9), "'coded.gain' is coded in an unknown way"),
    "the way of another column": (tensor("coded.gain", _0=3), "'coded.gain' is coded in an unknown way"),
    "nothing": (with_tensors(INT8, **{"coded.gain": np.empty(0, dtype=np.uint8)}), "'coded.gain' is too short"),
    "a long stream": (tensor("coded.gain", _8=255), "a coded column is damaged"),
    "more behind it": (
        with_tensors(INT8, **{"coded.gain": np.append(tensors_of(INT8)["coded.gain"], np.uint8(1))}),
        "a coded column is damaged",
    ),
    "no trees": (with_tensors(INT8, tree_start=None), "tensors are missing: tree_start"),
}


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_a_file_with_bad_columns_is_refused_before_memory_is_taken(content, reason, tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(ValueError, match=f"cannot be loaded: .*({reason})"):
        load_model(path)
    assert tracemalloc.get_traced_memory()[1] < 2**21
    tracemalloc.stop()


def test_a_column_cannot_expand_more_than_is_said(everything_coded):
    zeros = np.zeros(10**6, dtype=np.uint8)
    kept, text = coding.encode_columns({"n_samples": zeros})
    assert len(kept["coded.n_samples"]) >= len(zeros) / coding.MAX_EXPANSION
    assert text == '{"n_samples":["U8",1000000]}'
    assert_array_equal(coding.decode_columns(kept, text)["n_samples"], zeros)
