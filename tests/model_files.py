"""Model files taken apart and put together again, by docs/dev/format.md and without boostforest's own code."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np

GOLDEN = sorted((Path(__file__).parent / "data").glob("v*.safetensors"))
DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "U32": "<u4",
    "U64": "<u8",
    "I32": "<i4",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}


def split(content):
    """Return the header and the bytes of the tensors."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), content[end:]


def seal(header, data):
    """Return the bytes of a file with the right checksum; ``header`` is a dictionary or the text of one."""
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    text = re.sub(rb'"sha256":"[^"\\]*"', b'"sha256":"' + b"0" * 64 + b'"', text)
    content = len(text).to_bytes(8, "little") + text + data
    return content.replace(b"0" * 64, hashlib.sha256(content).hexdigest().encode(), 1)


def tensors_of(content):
    """Return the tensors by name."""
    header, data = split(content)
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            array = np.frombuffer(data[begin:end], dtype=DTYPES[entry["dtype"]])
            tensors[name] = array.reshape(entry["shape"]).copy()
    return tensors


def with_tensors(content, **changed):
    """Return a sealed file with some tensors replaced, added, or (None) left out."""
    header, _ = split(content)
    tensors = {name: array for name, array in (tensors_of(content) | changed).items() if array is not None}
    names = {np.dtype(code): name for name, code in DTYPES.items()}
    header, at = {"__metadata__": header["__metadata__"]}, 0
    for name, array in tensors.items():
        end = at + array.nbytes
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    return seal(header, b"".join(array.tobytes() for array in tensors.values()))


def with_metadata(content, **changed):
    """Return a sealed file with some metadata replaced, added, or (None) left out; JSON is made of all but strings."""
    header, data = split(content)
    texts = {name: text if isinstance(text, str) else json.dumps(text) for name, text in changed.items()}
    metadata = header["__metadata__"] | texts
    header["__metadata__"] = {name: text for name, text in metadata.items() if changed.get(name, "") is not None}
    return seal(header, data)


def with_entry(content, name, **changed):
    """Return a sealed file with the header's entry of a tensor changed."""
    header, data = split(content)
    header[name] = header[name] | changed
    return seal(header, data)


def field(content, name):
    """Return a metadata field, parsed."""
    return json.loads(split(content)[0]["__metadata__"][name])


def chain(content, n_splits, to_the_left=False):
    """Return a sealed file with one tree that is a chain of splits on the first feature, all at 0, with constants.

    Smaller values go on to the end if ``to_the_left``, otherwise larger ones.
    """
    tensors = tensors_of(content)
    n_nodes, split_node = 2 * n_splits + 1, np.arange(n_splits)
    inner = np.where(split_node > 0, 2 * split_node - to_the_left, 0)
    feature, left = np.full(n_nodes, -1, dtype=np.int32), np.zeros(n_nodes, dtype=np.int32)
    feature[inner], left[inner] = 0, 2 * split_node + 1
    n_outputs = len(tensors["classes"]) if len(tensors.get("classes", ())) > 2 else 1
    at_all_nodes = tensors["sum_path"][0] or "monotonic_cst" in tensors
    n_params = (n_nodes - 1 if at_all_nodes else n_splits + 1) * n_outputs
    columns = {
        "tree_start": np.array([0, n_nodes]),
        "kind": np.zeros(1, dtype=np.uint8),
        "feature": feature,
        "left": left,
        "missing_left": np.zeros(n_nodes, dtype=np.uint8),
        "n_samples": np.full(n_nodes, 1e6, dtype=np.float32),
        "lower": np.full(n_nodes, -1, dtype=tensors["lower"].dtype),
        "upper": np.full(n_nodes, 1, dtype=tensors["upper"].dtype),
        "params": (np.arange(n_params) % 2).astype(tensors["params"].dtype),
        "param_start": None,
    }
    columns |= {name: np.zeros(n_nodes, dtype=tensors[name].dtype) for name in ("threshold", "loss", "gain")}
    if "exponent" in tensors:
        columns["exponent"] = np.zeros(n_params, dtype=np.int8)
    columns |= {name: tensors[name][:1] for name in ("sum_path", "tree_seeds")}
    drawn = {
        name: (values["runs"] if isinstance(values, dict) else values)[:1]
        for name, values in field(content, "tree_params").items()
    }
    return with_metadata(with_tensors(content, **columns), tree_params=drawn)
