"""Model files that were damaged, or made up: refused with one sentence that names the file, whatever is in them."""

import ast
import json
import pickle
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import boostforest
from boostforest import BoostForestRegressor, load_model
from model_files import GOLDEN, field, seal, split, tensors_of, with_entry, with_metadata, with_tensors

FILES = {path.stem.split("-", 1)[1]: path.read_bytes() for path in GOLDEN if path.name.startswith("v1-")}
FOREST, CLASSES = FILES["forest-regressor"], FILES["forest-binary"]
HEADER, DATA = split(FOREST)
N_MANY = len(tensors_of(FILES["forest-multiclass"])["kind"])
NODES = next(path for path in GOLDEN if path.stem == "v2-nodes-regressor").read_bytes()
ON_LAYER = int(np.flatnonzero(tensors_of(NODES)["kind"] == 2)[0])  # a tree with a hidden layer


def to_text(header):
    """Return a header as JSON, of any length."""
    return json.dumps(header, separators=(",", ":")).encode().rstrip()


def edited(old, new):
    """Return the forest with some bytes of the header replaced."""
    before = to_text(HEADER)
    assert old in before
    return seal(before.replace(old, new, 1), DATA)


def element(name, i, value, content=FOREST):
    """Return a file with one value of a tensor changed."""
    array = tensors_of(content)[name]
    array.reshape(-1)[i] = value
    return with_tensors(content, **{name: array})


def params(content=FOREST, **changed):
    """Return a file with some constructor parameters changed."""
    return with_metadata(content, params=field(content, "params") | changed)


def drawn(**changed):
    """Return the forest with some of the trees' parameters changed."""
    return with_metadata(FOREST, tree_params=field(FOREST, "tree_params") | changed)


def swapped_entries():
    """Return the forest with two tensors on the same bytes, and none on others."""
    return with_entry(FOREST, "gain", data_offsets=HEADER["loss"]["data_offsets"])


LEFT = tensors_of(FOREST)["left"]
BAD_FILES = {
    "empty": (b"", "it has 0 bytes, too few for a header"),
    "short": (FOREST[:7], "it has 7 bytes"),
    "text": (b"Hello, this is not a model file at all.", "is not a model file"),
    "pickle": (pickle.dumps(BoostForestRegressor(preset="paper")), "is not a model file"),
    "header longer than the file": ((2**63).to_bytes(8, "little") + FOREST[8:], "would have 9223372036854775808 bytes"),
    "header longer than allowed": ((2**24 + 8).to_bytes(8, "little") + b"{" + b" " * 2**24 + b"       ", "would have"),
    "sums of several classes": (
        with_tensors(FILES["forest-multiclass"], sum_path=np.ones(N_MANY, "?")),
        "'sum_path' must be 0",
    ),
    "no JSON": (seal(b"[" * 100, b""), "does not start with a safetensors header"),
    "broken JSON": (edited(b'"shape"', b'"shape'), "the header is not JSON that this format has"),
    "deep JSON": (seal(b'{"a":' * 999 + b"}" * 999, b""), "the header is not JSON"),
    "much JSON": (seal(b'{"a":[' + b"[]," * 2000 + b"[]]}", b""), "too many brackets"),
    "no UTF-8": (edited(b'"gain"', b'"g\xffin"'), "the header is not JSON"),
    "UTF-16": (seal(b"{" + "{}".encode("utf-16"), b""), "the header is not JSON"),
    "NaN": (edited(b'"dtype":"U64"', b'"dtype":NaN'), "NaN is not a number"),
    "infinity": (edited(b'"dtype":"U64"', b'"dtype":1e999'), "a number is too large"),
    "long number": (edited(b'"dtype":"U64"', b'"dtype":' + b"1" * 5000), "a number is too long"),
    "name twice": (edited(b'"gain":', b'"loss":'), "a name occurs twice"),
    "metadata of numbers": (seal({**HEADER, "__metadata__": {"format": 1}}, DATA), "must map strings to strings"),
    "no metadata": (seal({k: v for k, v in HEADER.items() if k[0] != "_"}, DATA), "it is not a boostforest model file"),
    "entry without shape": (seal({**HEADER, "gain": {"dtype": "F64"}}, DATA), "'gain' needs dtype, shape and data"),
    "entry of another type": (seal({**HEADER, "gain": 3}, DATA), "'gain' needs dtype, shape and data_offsets"),
    "unknown dtype": (with_entry(FOREST, "gain", dtype="BF16"), "'gain' has the unknown dtype 'BF16'"),
    "dtype of another type": (with_entry(FOREST, "gain", dtype=["F64"]), "'gain' has the unknown dtype"),
    "negative shape": (with_entry(FOREST, "gain", shape=[-1]), "'gain' has the impossible shape"),
    "huge shape": (with_entry(FOREST, "gain", shape=[2**61]), "'gain' has the impossible shape"),
    "huge empty shape": (with_entry(FOREST, "gain", shape=[0, 2**62]), "'gain' has the impossible shape"),
    "shape of floats": (with_entry(FOREST, "gain", shape=[9.0]), "'gain' has the impossible shape"),
    "shape of booleans": (with_entry(FOREST, "gain", shape=[True]), "'gain' has the impossible shape"),
    "long shape": (with_entry(FOREST, "gain", shape=[1] * 9), "'gain' has the impossible shape"),
    "other shape": (with_entry(FOREST, "gain", shape=[1]), "offsets that do not fit its shape and dtype"),
    "offsets behind the file": (with_entry(FOREST, "gain", data_offsets=[0, 10**9]), "impossible data_offsets"),
    "offsets backward": (with_entry(FOREST, "gain", data_offsets=[8, 0]), "do not fit its shape and dtype"),
    "three offsets": (with_entry(FOREST, "gain", data_offsets=[0, 8, 8]), "impossible data_offsets"),
    "overlap": (swapped_entries(), "there is a gap or an overlap before tensor"),
    "gap": (seal({k: v for k, v in HEADER.items() if k != "loss"}, DATA), "a gap or an overlap before tensor"),
    "more bytes": (seal(HEADER, DATA + b"\0" * 8), "bytes of tensors where its header describes"),
    "fewer bytes": (FOREST[:-1], "impossible data_offsets|where its header describes"),
    "no checksum": (FOREST.replace(b'"sha256":', b'"sha-56":'), "it has no checksum"),
    "checksum at another place": (edited(b'"sha256":"', b'"sha256": "'), "it has no checksum"),
    "wrong checksum": (FOREST[:-1] + bytes([FOREST[-1] ^ 1]), "its checksum is wrong"),
    "another format": (with_metadata(FOREST, format="pt"), "it is not a boostforest model file"),
    "newer version": (with_metadata(FOREST, format_version="8"), r"format version 8, .* upgrade boostforest\.$"),
    "version 0": (with_metadata(FOREST, format_version="0"), "the impossible format version '0'"),
    "version in words": (with_metadata(FOREST, format_version="²"), "the impossible format version"),
    "another estimator": (with_metadata(FOREST, estimator="os.system"), "the unknown estimator 'os.system'; known are"),
    "a classifier": (with_metadata(FOREST, estimator="BoostForestClassifier"), "cannot be loaded"),
    "a tree": (with_metadata(FOREST, estimator="BoostTreeRegressor"), "the estimator has no parameter"),
    "metadata missing": (with_metadata(FOREST, draws=None), "its metadata must be"),
    "metadata unknown": (with_metadata(FOREST, more=1), "its metadata must be"),
    "name that clears the screen": (with_metadata(FOREST, **{"\x1b[2J\n\ud800": 1}), r"got .*\?\[2J"),
    "tensor that clears the screen": (with_tensors(FOREST, **{"\x1b[2J": LEFT}), r"are unknown for .*: \?\[2J"),
    "parameter unknown": (
        params(code="import os"),
        "the estimator has no parameter 'code' in this version: upgrade boostforest",
    ),
    "parameter of lists": (params(reg_lambda=[[1]]), "params: list must be a list of plain values"),
    "parameter of objects": (params(reg_lambda={"a": 1, "b": 2}), "params: an object needs one name"),
    "parameter of unknown kind": (params(reg_lambda={"eval": [1]}), "params: 'eval' is unknown"),
    "parameter of half a dictionary": (params(reg_lambda={"dict": [1]}), "params: 'dict' is unknown or has the wrong"),
    "parameter of long integers as keys": (params(reg_lambda={"dict": [2**64, 1]}), "params: 'dict' is unknown or has"),
    "parameter of a huge range": (params(n_cuts={"range": [1, 10**9, 1]}), "params: 'range' is unknown or has the"),
    "parameter out of bounds": (params(reg_lambda=-1), "reg_lambda must be a finite number of at least 0"),
    "too many threads": (params(n_jobs=10**30), "n_jobs must be below"),
    "no parameters": (with_metadata(FOREST, params=[]), "params must be an object"),
    "lost parameter unknown": (with_metadata(FOREST, not_stored=["x"]), "has no parameter 'x'"),
    "tensor missing": (with_tensors(FOREST, gain=None), "tensors are missing: gain"),
    "tensor unknown": (with_tensors(FOREST, more=np.zeros(3)), "tensors are unknown for BoostForestRegressor: more"),
    "tensor of another type": (with_tensors(FOREST, feature=LEFT.astype("i8")), "'feature' must be int32; got int64"),
    "coefficients of another type": (with_tensors(FOREST, params=LEFT), "'params' must be float64; got int32"),
    "column too short": (with_tensors(FOREST, gain=np.zeros(2)), r"'gain' must have the shape \(\d+,\); got \(2,\)"),
    "column of two dimensions": (with_tensors(FOREST, left=LEFT[:, None]), "'left' must have the shape"),
    "seeds too many": (with_tensors(FOREST, tree_seeds=np.zeros(4, "u8")), "'tree_seeds' must have the shape"),
    "no trees": (
        with_tensors(FOREST, kind=np.zeros(0, "u1"), sum_path=np.zeros(0, "?"), tree_seeds=np.zeros(0, "u8")),
        "needs at least one tree and one feature",
    ),
    "boolean of 2": (
        seal(HEADER, DATA[: HEADER["sum_path"]["data_offsets"][0]] + b"\2\2\2"),
        "'sum_path' has values other than true and false",
    ),
    "threshold of NaN": (element("threshold", 0, np.nan), "'threshold' has values that are not finite"),
    "coefficient of infinity": (element("params", 0, np.inf), "'params' has values that are not finite"),
    "signalling NaN": (
        with_tensors(FOREST, params=np.full(tensors_of(FOREST)["params"].shape, 0x7F800001, "u4").view("f4")),
        "'params' has values that are not finite",
    ),
    "mean of NaN": (element("feature_mean", 1, np.nan), "'feature_mean' has values that are not finite"),
    "scale of 0": (element("feature_scale", 1, 0.0), "'feature_scale' has values that are not above zero"),
    "deviation below 0": (element("feature_deviation", 1, -1.0), "'feature_deviation' has values that are not above"),
    "target of infinity": (element("target_mean", 0, np.inf), "'target_mean' has values that are not finite"),
    "target scale of 0": (element("target_scale", 0, 0.0), "'target_scale' has values that are not above zero"),
    "missing values to nowhere": (element("missing_left", 0, 2), "'missing_left' has values other than 0 and 1"),
    "clip range of NaN": (element("lower", 0, np.nan), "a clip range in 'lower' and 'upper' is empty"),
    "rows of less than nothing": (element("n_samples", 0, -1.0), "'n_samples' has values that cannot be weights"),
    "no rows": (with_tensors(FOREST, n_samples=np.zeros(len(LEFT))), "'n_samples' has values that cannot be weights"),
    "unknown feature": (element("feature", 0, 99), "damaged model: tree 0 splits on an unknown feature"),
    "circle": (element("left", 0, 0), "damaged model: tree 0 has a child outside of it"),
    "two parents": (element("left", 0, LEFT[: tensors_of(FOREST)["tree_start"][1]].max()), "every node .* one parent"),
    "leaf with children": (element("left", -1, 2**31 - 1), "has a leaf with a child"),
    "unknown node model": (element("kind", 0, 7), "damaged model: tree 0 has an unknown node model"),
    "hidden layers without their starts": (with_tensors(NODES, hidden_start=None), "tensors are missing: hidden_start"),
    "no hidden layers": (with_tensors(NODES, hidden=None, hidden_start=None), "has no hidden layer that fits its node"),
    "hidden layer of NaN": (element("hidden", 0, np.nan, NODES), "'hidden' has values that are not finite"),
    "hidden layer cut short": (element("hidden_start", -1, 3, NODES), "must run from 0 to the number of values in hid"),
    "hidden layer far away": (element("hidden_start", ON_LAYER + 1, 10**12, NODES), "no hidden layer that fits its"),
    "hidden layer before the first": (element("hidden_start", ON_LAYER + 1, -4, NODES), "no hidden layer that fits"),
    "hidden layer of part of a unit": (element("hidden_start", ON_LAYER + 1, 3, NODES), "no hidden layer that fits"),
    "hidden layer of a linear model": (element("kind", ON_LAYER, 1, NODES), "has no hidden layer that fits its node"),
    "node model by another name": (params(NODES, node_model={"os": {}}), "os must be a list of plain values"),
    "node model of the future": (
        params(NODES, node_model={"ELM": {"n_layers": 2}}),
        "ELM has no parameter 'n_layers' in",
    ),
    "node model of a list": (params(NODES, node_model={"ELM": [3]}), "'ELM' is not a node model"),
    "node model in a node model": (
        params(NODES, node_model={"Ridge": {"reg_lambda": {"Ridge": {"reg_lambda": 1}}}}),
        "Ridge must be a list of plain values",
    ),
    "node model out of bounds": (params(NODES, node_model={"Ridge": {"reg_lambda": -1}}), "Ridge.reg_lambda must be"),
    "two node models in one": (params(NODES, node_model={"Constant": {}, "Ridge": {}}), "an object needs one name"),
    "drawn node model out of bounds": (
        drawn(node_model=[{"ELM": {"n_hidden": 0, "reg_lambda": None}}]),
        "ELM.n_hidden must be an integer",
    ),
    "parameters outside": (element("param_start", -1, 10**9), "param_start is not where the parameters"),
    "classes in a regressor": (with_metadata(FOREST, classes="number"), "metadata 'classes' is not JSON"),
    "kind of classes in a regressor": (with_metadata(FOREST, classes='"number"'), "a regressor has no classes"),
    "no classes": (with_tensors(CLASSES, classes=None), "tensors are missing: classes"),
    "classes of another kind": (with_metadata(CLASSES, classes='"bytes"'), "a classifier needs classes"),
    "classes of no characters": (element("classes", 0, 0x110000, CLASSES), "must hold code points of strings"),
    "classes of one kind": (element("classes", slice(None), 65, CLASSES), "'classes' must ascend"),
    "classes of NaN": (
        with_metadata(with_tensors(CLASSES, classes=np.array([0.0, np.nan])), classes='"number"'),
        "'classes' has values that are not finite",
    ),
    "features miscounted": (with_metadata(FOREST, n_features=4), "n_features must be 3"),
    "names too few": (with_metadata(FOREST, feature_names=["a"]), "feature_names must be null or 3 strings"),
    "names of numbers": (with_metadata(FOREST, feature_names=[1, 2, 3]), "feature_names must be null or 3 strings"),
    "tree parameters in a list": (with_metadata(FOREST, tree_params=[]), "tree_params must be an object"),
    "tree parameter of the future": (
        drawn(max_time=[3]),
        "a tree has no parameter 'max_time' in this version: upgrade",
    ),
    "tree parameters too few": (drawn(n_cuts=[1, 1]), "n_cuts must have one value, or one per tree"),
    "tree parameter out of bounds": (drawn(reg_lambda=[-1]), "reg_lambda must be a finite number"),
    "tree parameter of a list": (drawn(reg_lambda=[[1] * 2000]), r"reg_lambda must be a finite .* …\.$"),
    "criterion of another task": (drawn(criterion=["gini"]), "criterion must be one of 'xgb', 'mse' for regression"),
    "entropy of numbers": (with_metadata(FOREST, entropy=3), "entropy must be a number in base 16"),
    "entropy below 0": (with_metadata(FOREST, entropy='"-0x3"'), "entropy must be a number in base 16"),
    "entropy of words": (with_metadata(FOREST, entropy='["0xq"]'), "entropy must be a number in base 16"),
    "draws too few": (with_metadata(FOREST, draws=[True]), "draws must be null"),
    "draws without checksum": (with_metadata(FOREST, draws=[True, 1, 1, "q"]), "and a checksum in base 16"),
    "score in words": (with_metadata(FOREST, oob_score='"good"'), "oob_score must be null or a number"),
}


@pytest.mark.parametrize(("content", "reason"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_refused_with_a_reason(content, reason, tmp_path):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(ValueError, match=reason) as caught:
        load_model(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    message = str(caught.value)
    assert type(caught.value) is ValueError and message.isprintable() and len(message) < 500
    assert message.startswith(f"{str(path)!r} cannot be loaded: ") and message.endswith(".")
    assert peak < 2 * len(content) + 2**20  # whatever sizes it claims


def test_parameters_are_checked_beside_defaults_too(tmp_path):
    path, rows = tmp_path / "a", np.arange(60.0).reshape(20, 3)
    BoostForestRegressor(2, random_state=0, preset="paper").fit(rows, rows[:, 0]).save_model(path)
    content = path.read_bytes()
    wrong = {"n_estimators": (0, -1, 2.5, True, "many", None), "n_jobs": (0, "all"), "verbose": (-1,), "clip": (2,)}
    for name, values in wrong.items():
        for value in values:
            path.write_bytes(params(content, **{name: value}))
            with pytest.raises(ValueError, match=f"cannot be loaded: {name} must be"):
                load_model(path)


REPEATED = {
    "escaped quotes": b'\\"',
    "backslashes": b"\\",
    "quotes": b'"',
    "names": b'"a":1,',
    "open string": b"a",
    "brackets": b"[",
    "objects": b'{"":',
    "digits": b"1",
    "spaces": b" ",
    "empty objects": b'"":{},',
}


@pytest.mark.parametrize("start", [b"{", b'{"', b'{"a":', b'{"a":0.'], ids=bytes.decode)
@pytest.mark.parametrize("piece", REPEATED.values(), ids=REPEATED)
def test_time_is_linear_in_the_header_whatever_it_holds(start, piece, tmp_path):
    # A quadratic scan of 64 kB took half a minute, and would take two days for the second size.
    path = tmp_path / "bad.safetensors"
    for size, seconds in ((2**16, 5), (2**22, 30)):
        header = (start + piece * (size // len(piece)))[:size]
        path.write_bytes(len(header).to_bytes(8, "little") + header)
        begin = time.perf_counter()
        with pytest.raises(ValueError, match="cannot be loaded"):
            load_model(path)
        assert time.perf_counter() - begin < seconds


def test_a_file_that_cannot_be_read_is_an_error_of_the_system(tmp_path):
    for path, error in ((tmp_path / "none", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(error) as caught:
            load_model(path)
        assert caught.value.filename == str(path)


def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(FOREST[:-1])
    stat = boostforest._files.files.os.fstat
    monkeypatch.setattr(
        boostforest._files.files.os, "fstat", lambda fd: type("", (), {"st_size": stat(fd).st_size + 1})
    )
    with pytest.raises(ValueError, match="it ends too early"):
        load_model(path)


def test_tensors_may_lie_in_any_order_and_at_odd_places(tmp_path):
    path = tmp_path / "a"
    expected = load_model(GOLDEN[0]).forest_.arrays()
    header, data = split(GOLDEN[0].read_bytes())
    path.write_bytes(seal(to_text(dict(reversed(header.items()))) + b" ", data))
    for name, array in load_model(path).forest_.arrays().items():
        np.testing.assert_array_equal(array, expected[name])
        assert array.flags.aligned


def test_the_code_that_reads_files_can_run_nothing():
    paths = list((Path(boostforest.__file__).parent / "_files").glob("*.py"))
    assert len(paths) > 5
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        modules = {n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
        assert not names & {"eval", "exec", "compile", "__import__", "setattr"}
        assert not modules & {"pickle", "joblib", "marshal", "importlib", "subprocess", "dill", "shelve"}
