"""Model files are written whole or not at all; what cannot be saved is refused with a reason."""

import errno
import os
import stat
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from boostforest import BoostForestClassifier, BoostForestRegressor, load_model
from boostforest._files import container as _safetensors
from boostforest._files import files as _io
from boostforest._files.plain import decode_params, encode_params
from boostforest.nodes import ELM, Constant, LinearSVR, Ridge
from model_files import GOLDEN, split, with_metadata, with_tensors
from models import paper_regressor
from test_io import assert_same, fit
from twin import example_data


class MyForest(BoostForestRegressor):
    """A class that no file can bring back."""


@pytest.mark.parametrize(
    ("change", "options", "error", "match"),
    [
        (lambda f: clone(f), {}, NotFittedError, "not fitted"),
        (lambda f: f, {"dtype": "bfloat16"}, ValueError, "dtype must be None or one of 'float64', .* got 'bfloat16'"),
        (lambda f: f.set_params(criterion="all"), {}, ValueError, "cannot be saved to .*criterion must be one of"),
        (lambda f: f.set_params(n_jobs=10**30), {}, ValueError, "n_jobs must be below"),
        (lambda f: fit("regression", {"regression": MyForest})[0], {}, ValueError, "not a class of your own; got MyF"),
    ],
    ids=["not fitted", "bad dtype", "bad parameter", "bad n_jobs", "subclass"],
)
def test_what_cannot_be_saved_is_refused_and_nothing_is_written(change, options, error, match, tmp_path):
    fitted, _ = fit("regression")
    with pytest.raises(error, match=match):
        change(fitted).save_model(tmp_path / "a", **options)
    assert not list(tmp_path.iterdir())


CLASSES = [np.array([b"a", b"b"]), np.array(["a", "b\0"], dtype=object), np.array([1j, 2j])]


@pytest.mark.parametrize("classes", CLASSES, ids=str)
def test_classes_of_other_kinds_are_refused(classes, tmp_path):
    fitted, _ = fit("binary")
    fitted._model = replace(fitted._model, loss=replace(fitted._model.loss, classes=classes))
    with pytest.raises(
        ValueError, match="y must have classes that are integers, floats of at most 64 bits, booleans or"
    ):
        fitted.save_model(tmp_path / "a")


@pytest.mark.parametrize("classes", [CLASSES[1], np.array([0, 1], dtype=np.longdouble)], ids=str)
@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="a long double that is none")
def test_classes_that_no_file_can_hold_are_refused_by_the_fit(classes):
    X, codes = example_data("binary", n=40)
    with pytest.raises(ValueError, match=r"y must have classes that are integers, .*; got "):
        BoostForestClassifier(2, preset="paper").fit(X, classes[codes])


def test_a_path_that_cannot_be_written_is_named(tmp_path):
    fitted, _ = fit("regression")
    for path, error in ((tmp_path / "no" / "a", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(error) as caught:
            fitted.save_model(path)
        assert caught.value.filename == str(path)
    with pytest.raises(TypeError):
        fitted.save_model(3)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("function", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize(
    "error", [(OSError, errno.ENOSPC, "No space left"), (KeyboardInterrupt,)], ids=["disk", "Ctrl-C"]
)
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(function, error, tmp_path, monkeypatch):
    path = tmp_path / "a"
    fitted, X = fit("regression")
    fitted.save_model(path)

    def fail(*_):
        raise error[0](*error[1:])

    with monkeypatch.context() as patch:
        patch.setattr(_io.os, function, fail)
        with pytest.raises(error[0]) as caught:
            fit("binary")[0].save_model(path)
    assert getattr(caught.value, "filename", str(path)) == str(path)
    assert list(tmp_path.iterdir()) == [path]
    assert_same(load_model(path), fitted, X)


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions, links and pipes")
def test_links_permissions_and_pipes_stay_what_they_are(tmp_path):
    fitted, _ = fit("regression")
    link, path, pipe = tmp_path / "link", tmp_path / ("a" * 250), tmp_path / "pipe"
    link.symlink_to(path)
    fitted.save_model(link)
    umask = os.umask(0)
    os.umask(umask)
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    fitted.save_model(link)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    os.mkfifo(pipe)
    for call in (fitted.save_model, load_model):
        with pytest.raises(OSError, match="Not a regular file"):
            call(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode) and len(list(tmp_path.iterdir())) == 3


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_private_model_is_never_readable_by_others_while_it_is_written(tmp_path, monkeypatch):
    fitted, _ = fit("regression")
    path = tmp_path / "a"
    fitted.save_model(path)
    modes = []

    def look(_):
        (beside,) = set(tmp_path.iterdir()) - {path}
        modes.append(stat.S_IMODE(beside.stat().st_mode))

    monkeypatch.setattr(_io.os, "fsync", look)
    monkeypatch.setattr(_io, "_sync_folder", lambda folder: None)
    before = os.umask(0)
    try:
        for mode in (0o600, 0o400, 0o664):
            path.chmod(mode)
            fitted.save_model(path)
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(before)
    assert modes == [0o600] * 3


WRITER = """
import os, sys, time
from boostforest import load_model
from boostforest._files import files as _io
path, stage = sys.argv[1:]

def stop(*_):
    print("writing", flush=True)
    time.sleep(60)

def half(chunks):
    chunks = b"".join(chunks)
    yield chunks[: len(chunks) // 2]
    stop()

model = load_model(path)
if stage == "half":
    to_chunks = _io.to_chunks
    _io.to_chunks = lambda *arguments: half(to_chunks(*arguments))
else:
    setattr(os, stage, stop)
model.set_params(n_jobs=2).save_model(path)
"""


def test_a_writer_that_is_killed_leaves_the_old_file_whole(tmp_path):
    fitted, X = fit("regression", n_estimators=30)
    writers = {}
    for stage in ("half", "replace"):
        path = tmp_path / stage / "model"
        path.parent.mkdir()
        fitted.save_model(path)
        command = [sys.executable, "-c", WRITER, str(path), stage]
        writers[path] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for path, writer in writers.items():
        with writer:
            assert writer.stdout.readline() == "writing\n"
            writer.kill()
        assert_same(load_model(path), fitted, X)
        (left,) = set(path.parent.iterdir()) - {path}
        assert left.match(".boostforest-*.tmp")


# -------------------------------------------------------------------------------------- what can be fitted can be saved


def test_pools_of_node_models_with_many_trees_come_back(reloaded):
    pool = [ELM((2, 3)), Ridge([0.1, 1.0]), Constant(), LinearSVR(C=[0.5, 1])]
    fitted, X = fit("regression", n_estimators=600, node_model=pool, min_samples_leaf=40)
    loaded = reloaded(fitted)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.tree_params_ == fitted.tree_params_


def test_names_and_parameters_without_room_in_the_header_stand_behind_it(tmp_path, monkeypatch):
    X, y = example_data("regression", n=60)
    frame = pd.DataFrame(X, columns=["a" * 2**17, "ü😀", "c", "d"])
    fitted = paper_regressor(30, reg_lambda=(np.arange(1, 9000) / 7).tolist()).fit(frame, y)
    fitted.save_model(tmp_path / "roomy")
    monkeypatch.setattr(_safetensors, "MAX_HEADER", 2**17)
    fitted.save_model(tmp_path / "a")
    loaded = load_model(tmp_path / "a")
    np.testing.assert_array_equal(loaded.predict(frame), fitted.predict(frame))
    assert loaded.tree_params_ == fitted.tree_params_ and loaded.get_params() == fitted.get_params()
    header, _ = split((tmp_path / "a").read_bytes())
    assert {name for name in header if name.startswith("metadata.")} == {"metadata.feature_names", "metadata.params"}
    description, sizes = _io.read_description(tmp_path / "a")
    assert sizes["metadata.feature_names"] > 2**17
    in_header = split((tmp_path / "roomy").read_bytes())[0]["__metadata__"]
    assert {**in_header, "sha256": ""} == {**description, "sha256": ""}


def long_fields():
    """Return a file whose feature names stand behind the header."""
    metadata = split(GOLDEN[0].read_bytes())[0]["__metadata__"]
    names = np.frombuffer(metadata["feature_names"].encode(), dtype=np.uint8)
    content = with_tensors(GOLDEN[0].read_bytes(), **{"metadata.feature_names": names})
    return with_metadata(content, feature_names=None), names


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda content, names: with_metadata(content, feature_names="null"), "stand for metadata once"),
        (lambda content, names: with_tensors(content, **{"metadata.feature_names": names.view("i1")}), "must be uint8"),
        (lambda content, names: with_tensors(content, **{"metadata.feature_names": names[None]}), "one dimension"),
        (lambda content, names: with_tensors(content, **{"metadata.feature_names": names | 128}), "is not ASCII"),
        (lambda content, names: with_tensors(content, **{"metadata.feature_names": names[:0]}), "is not JSON"),
        (lambda content, names: with_tensors(content, **{"metadata.more": names}), "its metadata must be"),
        (lambda content, names: with_tensors(content, **{"metadata.feature_names": None}), "its metadata must be"),
        (lambda content, names: with_tensors(content, **{"metadata.format": names}), "its metadata must be"),
    ],
)
def test_damaged_fields_behind_the_header_are_refused(change, reason, tmp_path):
    content, names = long_fields()
    (tmp_path / "a").write_bytes(content)
    load_model(tmp_path / "a")
    (tmp_path / "a").write_bytes(change(content, names))
    with pytest.raises(ValueError, match=reason):
        load_model(tmp_path / "a")


@pytest.mark.parametrize("size", [1e-155, 1e155])
def test_a_fit_whose_missing_values_cannot_be_filled_says_so(size):
    X, y = example_data("regression", n=60)
    X[:, 1] *= size
    X[::7] = np.nan
    with pytest.raises(ValueError, match=r"X has values too large or too small to compute with; rescale them, or use"):
        paper_regressor(2, scale=False).fit(X, y)
    assert np.isfinite(paper_regressor(2).fit(X, y).predict(X)).all()


# ----------------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1,
        1.0,
        -(2**200),
        "é\ud800",
        [],
        [1, 1.0, None],
        (1, "a"),
        range(3, 9, 2),
        range(0),
        {1: 0.5, "a": 2},
    ],
    ids=repr,
)
def test_plain_parameters_come_back_as_they_were(value):
    encoded, lost = encode_params({"a": value})
    decoded = decode_params(_safetensors.parse_json(_safetensors.to_json(encoded), "it"), lost, ["a"])["a"]
    assert repr(decoded) == repr(value) and not lost


@pytest.mark.parametrize(
    ("value", "plain"),
    [(np.int8(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("a"), "a"), (np.arange(3), [0, 1, 2])],
)
def test_numpy_parameters_come_back_as_plain_ones(value, plain):
    encoded, lost = encode_params({"a": value})
    assert repr(decode_params(encoded, lost, ["a"])["a"]) == repr(plain)


@pytest.mark.parametrize(
    "value",
    [object(), print, np.nan, np.inf, 2**2000, range(10**12), ["x" * 2**18], b"a", {1: [2]}, {2**64: 1}, 1j],
)
def test_other_parameters_are_lost(value):
    assert encode_params({"a": value}) == ({"a": None}, ["a"])
    assert decode_params({"a": None}, ["a"], ["a"]) == {}
