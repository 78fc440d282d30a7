"""The safetensors layout: the length of a header, a JSON header, raw tensors.

What is read may come from anyone, so every number is checked before it is used; ``ValueError`` says what is wrong with
a file, without naming it. ``docs/dev/format.md`` describes the bytes.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, NoReturn

import numpy as np

from .._base.typing import Array

Tensors = dict[str, Array]
Metadata = dict[str, str]

MAX_HEADER = 2**24  # parsed JSON takes up to some 30 times its length
MAX_BRACKETS = 1000  # of JSON; in long texts one character in eight may be one as well
_MAX_DIGITS = 400  # long integers take time that grows with the square of their length
_MAX_DIMENSIONS = 8

_SHA256 = re.compile(r"[0-9a-f]{64}")

ITEMS = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_NAMES = {dtype: name for name, dtype in ITEMS.items()}


class HeaderTooLongError(ValueError):
    """What must be in a header takes more room than there is."""


# ---------------------------------------------------------------------------------------------------------------- JSON


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name occurs twice")
    return result


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError("a number is too long")
    return int(text)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def count_brackets(text: str) -> int:
    """Return how many brackets open outside of strings, in time that is linear for any text."""
    bare = text.replace("\\\\", "").replace('\\"', "")  # from here on every quote opens or closes a string
    characters = np.frombuffer(bare.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    in_string = np.logical_xor.accumulate(characters == ord('"'))
    opening = (characters == ord("[")) | (characters == ord("{"))
    return int(np.count_nonzero(opening & ~in_string))


def parse_json(text: str | bytes, what: str) -> Any:
    """Return what a shallow, strict piece of JSON stands for; ``what`` names it in messages."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        if count_brackets(text) > MAX_BRACKETS + len(text) // 8:
            raise ValueError("too many brackets")
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_integer
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} is not JSON that this format has: {error}") from error


def to_json(value: Any) -> str:
    """Return compact ASCII JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


# -------------------------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True)
class _Entry:
    """Where a tensor lies, counted from the end of the header."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """The header of a file, checked: the tensors fill the rest of the file without gaps."""

    text: bytes
    metadata: Metadata
    entries: list[_Entry]  # in the order of their bytes


def _is_sizes(value: object, limit: int) -> bool:
    return isinstance(value, list) and all(type(v) is int and 0 <= v <= limit for v in value)


def _parse_entry(name: str, value: Any, n_bytes: int) -> _Entry:
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"tensor {name!r} needs dtype, shape and data_offsets, and nothing else")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in ITEMS:
        raise ValueError(f"tensor {name!r} has the unknown dtype {dtype!r}")
    if not _is_sizes(shape, n_bytes) or len(shape) > _MAX_DIMENSIONS:
        raise ValueError(f"tensor {name!r} has the impossible shape {shape!r}")
    if not _is_sizes(offsets, n_bytes) or len(offsets) != 2:
        raise ValueError(f"tensor {name!r} has the impossible data_offsets {offsets!r}")
    begin, end = offsets
    if end - begin != math.prod(shape) * ITEMS[dtype].itemsize:
        raise ValueError(f"tensor {name!r} has data_offsets that do not fit its shape and dtype")
    return _Entry(name, ITEMS[dtype], tuple(shape), begin, end)


def _parse_metadata(value: Any) -> Metadata:
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise ValueError("__metadata__ must map strings to strings")
    return value


def _read_exactly(file: BufferedReader, n: int) -> bytes:
    data = file.read(n)
    if len(data) != n:
        raise ValueError("it ends too early")
    return data


def read_header(file: BufferedReader, size: int) -> Header:
    """Read and check the header of a file of ``size`` bytes."""
    if size < 8:
        raise ValueError(f"it has {size} bytes, too few for a header")
    length = int.from_bytes(_read_exactly(file, 8), "little")
    if length > min(size - 8, MAX_HEADER):
        raise ValueError(f"it is not a model file, or cut short: its header would have {length} bytes")
    text = _read_exactly(file, length)
    header = parse_json(text, "the header") if text.startswith(b"{") else None
    if not isinstance(header, dict):
        raise ValueError("it does not start with a safetensors header")
    n_bytes = size - 8 - length
    metadata = _parse_metadata(header.pop("__metadata__", {}))
    entries = [_parse_entry(name, value, n_bytes) for name, value in header.items()]
    entries.sort(key=lambda entry: (entry.begin, entry.end))
    at = 0
    for entry in entries:
        if entry.begin != at:
            raise ValueError(f"there is a gap or an overlap before tensor {entry.name!r}")
        at = entry.end
    if at != n_bytes:
        raise ValueError(f"it has {n_bytes} bytes of tensors where its header describes {at}")
    return Header(text, metadata, entries)


def _read_tensor(file: BufferedReader, entry: _Entry) -> Array:
    """Return an array of its own: aligned whatever the offsets are, and as large as the bytes that are there."""
    is_bool = entry.dtype == np.bool_
    array = np.empty(entry.shape, dtype=np.uint8 if is_bool else entry.dtype)
    if file.readinto(_bytes_of(array)) != array.nbytes:
        raise ValueError("it ends too early")
    if not is_bool:
        return array
    if (array > 1).any():
        raise ValueError(f"tensor {entry.name!r} has values other than true and false")
    return array.view(np.bool_)


def read_some(file: BufferedReader, header: Header, prefix: str) -> Tensors:
    """Read the tensors whose names begin so, without a look at the checksum."""
    tensors = {}
    for entry in header.entries:
        if entry.name.startswith(prefix):
            file.seek(8 + len(header.text) + entry.begin)
            tensors[entry.name] = _read_tensor(file, entry)
    return tensors


def read_tensors(file: BufferedReader, header: Header) -> Tensors:
    """Read the tensors behind the header, and compare the checksum."""
    tensors = {entry.name: _read_tensor(file, entry) for entry in header.entries}
    claimed = header.metadata.get("sha256", "")
    sealed = _sealed(claimed)
    if not _SHA256.fullmatch(claimed) or header.text.count(sealed) != 1:
        raise ValueError("it has no checksum")
    unsealed = header.text.replace(sealed, _sealed(_UNSEALED))
    if _digest(unsealed, tensors) != claimed:
        raise ValueError("its checksum is wrong: it was damaged or changed")
    return {name: a.astype(a.dtype.newbyteorder("="), copy=False) for name, a in tensors.items()}


# -------------------------------------------------------------------------------------------------------------- writing

_UNSEALED = "0" * 64  # stands for the checksum while it is computed


def _sealed(digest: str) -> bytes:
    # Quotes within a string are escaped, so these bytes can be nothing else than this entry.
    return f'"sha256":"{digest}"'.encode()


def _bytes_of(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _digest(header: bytes, tensors: Mapping[str, Array]) -> str:
    """Return the checksum of a file: that of all its bytes, with zeros in its own place."""
    digest = hashlib.sha256(len(header).to_bytes(8, "little") + header)
    for array in tensors.values():
        digest.update(_bytes_of(array))
    return digest.hexdigest()


def to_chunks(tensors: Tensors, metadata: Metadata) -> list[bytes | memoryview]:
    """Return the bytes of a file, in pieces; the same tensors and metadata give the same bytes."""
    little = {name: np.asarray(a, dtype=a.dtype.newbyteorder("<"), order="C") for name, a in tensors.items()}
    # Large items first: every tensor is aligned to its items.
    ordered = dict(sorted(little.items(), key=lambda item: (-item[1].itemsize, item[0])))
    header: dict[str, Any] = {"__metadata__": {**metadata, "sha256": _UNSEALED}}
    at = 0
    for name, array in ordered.items():
        end = at + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    text = to_json(header).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise HeaderTooLongError(f"its header takes {len(text)} bytes, and {MAX_HEADER} are the most")
    text = text.replace(_sealed(_UNSEALED), _sealed(_digest(text, ordered)))
    return [len(text).to_bytes(8, "little"), text, *map(_bytes_of, ordered.values())]
