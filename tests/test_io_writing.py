"""Model files are written whole or not at all; what cannot be saved is refused with a reason."""

import errno
import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from boostforest import BoostForestRegressor, _io, _safetensors, load_model
from boostforest._plain import decode_params, encode_params
from test_io import assert_same, fit


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


@pytest.mark.parametrize("classes", [np.array([b"a", b"b"]), np.array(["a", "b\0"], dtype=object), np.array([1j, 2j])])
def test_classes_of_other_kinds_are_refused(classes, tmp_path):
    fitted, _ = fit("binary")
    fitted.classes_ = classes
    with pytest.raises(ValueError, match="classes must be integers, floats, booleans or strings; got"):
        fitted.save_model(tmp_path / "a")


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


WRITER = """
import os, sys, time
from boostforest import _io, load_model
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


# ------------------------------------------------------------------------------
# Parameters.


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
    "value", [object(), print, np.nan, np.inf, 2**2000, range(10**12), ["x" * 2**18], [[1]], b"a", {1: [2]}, 1j]
)
def test_other_parameters_are_lost(value):
    assert encode_params({"a": value}) == ({"a": None}, ["a"])
    assert decode_params({"a": None}, ["a"], ["a"]) == {}
