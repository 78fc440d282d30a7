"""Damage the golden model files at random, for as long as you like: ``python tests/fuzz_io.py --seconds 600``.

A file that was changed anyhow must be refused with a ValueError. A file that was changed and then given the right
checksum, as an attacker would, may load if its numbers make sense; then every method must work. No file may take more
than a few seconds, or much more memory than its size.
"""

import argparse
import faulthandler
import json
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from boostforest import load_model
from boostforest._files.coding import PREFIX, decode_columns
from model_files import DTYPES as ITEMS
from model_files import GOLDEN, chain, seal, split, tensors_of, with_metadata, with_tensors

INTEGERS = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 255, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**64, 10**30]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-30, 1e30, 1.7e308, -1.7e308, np.nan, np.inf, -np.inf]
JSON = [None, True, False, "", "xgb", "\x00", "é" * 50, [], {}, [[]], {"a": 1}, [1] * 20, 0.5, 1e300, -0.1, *INTEGERS]
DTYPES = ["F64", "F32", "F16", "I64", "I32", "U64", "U32", "U8", "BOOL", "BF16", "", None, 3, []]

PIECES = [
    b'\\"',
    b"\\",
    b'"',
    b"[",
    b"{",
    b'{"":',
    b"1",
    b"-",
    b"0.",
    b" ",
    b"\n",
    b"\xc3\xa9",
    b'"a":1,',
    b"[],",
    b"\\u0000",
]

CONTENTS = [path.read_bytes() for path in GOLDEN]
MAX_SECONDS = 5  # of the processor, for one file of a few kilobytes: to load it and to call every method


# ------------------------------------------------------------------------------------ damage without the right checksum


def truncate(rng, content):
    return content[: rng.randrange(len(content))]


def grow(rng, content):
    at = rng.choice([len(content), rng.randrange(len(content))])
    return content[:at] + rng.randbytes(rng.randint(1, 40)) + content[at:]


def flip(rng, content):
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 10, 100])):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def move(rng, content):
    begin, end, at = (rng.randrange(len(content)) for _ in range(3))
    piece = content[min(begin, end) : max(begin, end)]
    return content[:at] + piece + content[at + rng.choice([0, len(piece)]) :]


def resize_header(rng, content):
    length = rng.choice([*INTEGERS, int.from_bytes(content[:8], "little") + rng.randint(-9, 9)])
    return (length % 2**64).to_bytes(8, "little") + content[8:]


def stretch_header(rng, content):
    """Repeat something in the header that a slow scan would read again and again."""
    end = 8 + int.from_bytes(content[:8], "little")
    at = rng.choice([9, rng.randint(9, end)])
    text = content[8:at] + rng.choice(PIECES) * rng.choice([1, 1000, 30_000]) + content[at:end]
    return len(text).to_bytes(8, "little") + text + content[end:]


DAMAGES = [truncate, grow, flip, move, resize_header, stretch_header]


# ------------------------------------------------------------------------------------- changes under the right checksum


def change_json(rng, value):
    """Return JSON with one value in it replaced, dropped or doubled."""
    if isinstance(value, dict | list) and value and rng.random() < 0.85:
        copy = value.copy()
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        action = rng.random()
        if action < 0.1:
            del copy[key]
        elif action < 0.2 and isinstance(value, list):
            copy.append(copy[key])
        else:
            copy[key] = change_json(rng, copy[key])
        return copy
    return rng.choice(JSON)


def is_json(text):
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def change_metadata(rng, content):
    header, data = split(content)
    metadata = header["__metadata__"]
    name = rng.choice(list(metadata))
    if rng.random() < 0.8 and name != "sha256" and is_json(metadata[name]):
        metadata[name] = json.dumps(change_json(rng, json.loads(metadata[name])))
    else:
        other = split(rng.choice(CONTENTS))[0]["__metadata__"].get(name, "")
        metadata[name] = rng.choice(["", "0", "2", "[" * 2000, "BoostTreeRegressor", other, "1e999"])
    return seal(header, data)


def change_entry(rng, content):
    header, data = split(content)
    name = rng.choice([name for name in header if name != "__metadata__"])
    entry = header[name]
    kind = rng.choice(["dtype", "shape", "data_offsets", "name", "drop", "json"])
    if kind == "dtype":
        entry["dtype"] = rng.choice(DTYPES)
    elif kind == "drop":
        del header[name]
    elif kind == "name":
        header[rng.choice(list(header))] = header.pop(name)
    elif kind == "json":
        header[name] = change_json(rng, entry)
    else:
        numbers = entry[kind] or [0]
        i = rng.randrange(len(numbers))
        numbers[i] = rng.choice([*INTEGERS, numbers[i] + rng.randint(-9, 9), len(data), None, 0.5, True])
    return seal(header, data)


def change_tensor(rng, content):
    tensors = tensors_of(content)
    name = rng.choice([name for name, array in tensors.items() if array.size])
    array = tensors[name].reshape(-1)
    for _ in range(rng.choice([1, 1, 3, 20])):
        i = rng.randrange(array.size)
        with np.errstate(over="ignore"):
            if array.dtype.kind == "f":
                array[i] = rng.choice(FLOATS)
            else:
                number = rng.choice([int(array[i]) + rng.randint(-3, 3), *INTEGERS]) % 2**64
                array[i] = np.array(number, dtype=np.uint64).astype(array.dtype)
    shape = tensors[name].shape
    return with_tensors(content, **{name: array.reshape(shape)})


def resize_tensor(rng, content):
    tensors = tensors_of(content)
    name = rng.choice([name for name, array in tensors.items() if array.ndim])
    changed = rng.choice([tensors[name][:-1], tensors[name][:0], np.repeat(tensors[name], 2, axis=0)])
    return with_tensors(content, **{name: rng.choice([changed, tensors[name].astype(np.float64)])})


def retype_tensor(rng, content):
    """Read the bytes of a tensor as another type, in a shape that fits."""
    header, data = split(content)
    name = rng.choice([name for name in header if name != "__metadata__"])
    n_bytes = header[name]["data_offsets"][1] - header[name]["data_offsets"][0]
    dtype = rng.choice([dtype for dtype, item in ITEMS.items() if n_bytes % np.dtype(item).itemsize == 0])
    n = n_bytes // np.dtype(ITEMS[dtype]).itemsize
    divisor = rng.choice([k for k in (1, 2, 3, 5) if n % k == 0])
    header[name] |= {"dtype": dtype, "shape": rng.choice([[n], [divisor, n // divisor], [n // divisor, divisor]])}
    return seal(header, data)


def splice(rng, content):
    """Take tensors of another file."""
    other = tensors_of(rng.choice(CONTENTS))
    names = rng.sample(list(other), rng.choice([1, 1, 2, 5]))
    return with_tensors(content, **{name: other[name] for name in names})


def uncoded(content):
    """Return a file with all columns as they are."""
    text = split(content)[0]["__metadata__"].get("coded")
    if text is None or not any(name.startswith(PREFIX) for name in tensors_of(content)):
        return content
    changed = dict.fromkeys(tensors_of(content)) | decode_columns(tensors_of(content), text)
    return with_metadata(with_tensors(content, **changed), coded=None)


def rewire(rng, content):
    """Give every tree another shape, other features and thresholds: all of that may be valid."""
    content = uncoded(content)
    tensors = tensors_of(content)
    start, n_features = tensors["tree_start"], len(tensors["feature_mean"])
    feature, left = np.full_like(tensors["feature"], -1), np.zeros_like(tensors["left"])
    threshold = np.zeros_like(tensors["threshold"])
    n_used = rng.randint(1, n_features)
    for begin, end in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        leaves, which = [0], rng.choice([0, -1, None])
        for child in range(1, end - begin, 2):
            node = leaves.pop(rng.randrange(len(leaves)) if which is None else which)
            feature[begin + node], left[begin + node] = rng.randrange(n_used), child
            threshold[begin + node] = rng.choice([0.0, rng.gauss(0, 1)])
            leaves += [child, child + 1]
    n_samples = np.full_like(tensors["n_samples"], rng.choice([1.0, 79.0, 1e9]))
    columns = {"feature": feature, "left": left, "threshold": threshold, "n_samples": n_samples, "param_start": None}
    return with_tensors(content, **columns)


def lengthen(rng, content):
    """Make one tree a chain."""
    return chain(uncoded(content), rng.choice([1, 2, 100, 1500]), rng.random() < 0.5)


def move_field(rng, content):
    """Put a metadata field behind the header, whole or damaged."""
    metadata = split(content)[0]["__metadata__"]
    name = rng.choice(list(metadata))
    text = np.frombuffer(metadata[name].encode(), dtype=np.uint8).copy()
    if text.size and rng.random() < 0.3:
        text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
    moved = with_tensors(content, **{f"metadata.{name}": text})
    return with_metadata(moved, **{name: None}) if rng.random() < 0.8 else moved


def stretch_sealed(rng, content):
    damaged = stretch_header(rng, content)
    end = 8 + int.from_bytes(damaged[:8], "little")
    return seal(damaged[8:end], damaged[end:])


def damage_sealed(rng, content):
    """Damage the bytes, then give them the right checksum."""
    damaged = rng.choice([flip, move])(rng, content)
    end = 8 + int.from_bytes(content[:8], "little")
    return seal(damaged[8:end], damaged[end:])


def change_often(rng, content):
    """Make several changes, those that need a whole file first."""
    content = rng.choice([rewire, rewire, lengthen])(rng, content)
    for _ in range(rng.randint(1, 3)):
        content = rng.choice([change_metadata, change_tensor, resize_tensor, splice, move_field])(rng, content)
    return content


CHANGES = [
    change_metadata,
    change_entry,
    change_tensor,
    change_tensor,
    resize_tensor,
    retype_tensor,
    splice,
    rewire,
    lengthen,
    move_field,
    stretch_sealed,
    damage_sealed,
    change_often,
]


# ------------------------------------------------------------------------------------------------------- what must hold


def use(model):
    """Call every method of a loaded model."""
    rows = np.random.default_rng(0).normal(size=(5, model.n_features_in_))
    rows[0] = np.nan
    if model.is_categorical_ is not None:
        rows = rows.astype(object)
        for j, column in model.encoder_.categories.items():
            rows[1:, j] = [*column.levels, *(["unknown"] if column.is_text else [0.5]) * 4][:4]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        assert len(model.predict(rows)) == 5
        model.apply(rows)
        model.decision_path(rows)
        model.to_dataframe()
        repr((model, model.tree_params_, model.n_leaves_, model.feature_importances_))
        getattr(model, "slope_importances_", None)
        if hasattr(model, "classes_"):
            assert model.predict_proba(rows).shape == (5, model.n_classes_)
            model.decision_function(rows)
        if hasattr(model, "get_tree"):
            list(model.staged_predict(rows))
            model.get_tree(-1).predict(rows)
            if (kept := getattr(model._model.known.left_out, "local", None)) is not None:
                assert model.predict_interval(rows, 0.5).shape == (5, 2)
                assert model.predict_distribution(rows).quantile([0.1, 0.9]).shape == (5, 2), kept


def load_damaged(path, content, sealed):
    """Load and use a damaged file in time; return whether it was refused: one with the right checksum need not be."""
    path.write_bytes(content)
    begin = time.process_time()
    refused = _load_and_use(path, sealed)
    seconds = time.process_time() - begin
    assert seconds < MAX_SECONDS, f"a file of {len(content)} bytes took {seconds:.1f} seconds"
    return refused


def _load_and_use(path, sealed):
    try:
        with warnings.catch_warnings(action="error"):
            model = load_model(path)
    except ValueError as error:
        message = str(error)
        assert message.startswith(f"{str(path)!r} cannot be loaded: ") and message.endswith("."), message
        assert message.isprintable() and len(message) < 600, message
        return True
    assert sealed, "a damaged file was loaded"
    use(model)
    return False


def limit_memory(n_bytes=2**30):
    """Let any allocation fail that is much larger than the files, where the system can do that."""
    try:
        import resource
    except ImportError:
        return
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + n_bytes, resource.RLIM_INFINITY))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    for path in GOLDEN:
        use(load_model(path))
    if sys.platform == "linux":
        limit_memory()
    faulthandler.enable()
    path = Path(tempfile.mkdtemp()) / "damaged.safetensors"
    say = sys.stdout.write
    say(f"seed {options.seed}; if this stops, the culprit is {path}\n")
    counts = {function.__name__: [0, 0] for function in [*DAMAGES, *CHANGES]}
    seed, end = options.seed, time.monotonic() + options.seconds
    while time.monotonic() < end:
        for _ in range(100):
            faulthandler.dump_traceback_later(60, exit=True)  # it hangs
            rng = random.Random(seed)
            seed += 1
            content = rng.choice(CONTENTS)
            function = rng.choice([*DAMAGES, *CHANGES])
            damaged = function(rng, content)
            if damaged != content:
                refused = load_damaged(path, damaged, sealed=function in CHANGES)
                counts[function.__name__][not refused] += 1
        faulthandler.cancel_dump_traceback_later()
    for name, (refused, loaded) in counts.items():
        say(f"{name:<16}{refused:>9} refused{loaded:>9} loaded and used\n")
    path.unlink()
    path.parent.rmdir()


if __name__ == "__main__":
    main()
