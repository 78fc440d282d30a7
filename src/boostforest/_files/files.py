"""Model files: written whole or not at all, read without trust."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from io import BufferedReader
from typing import Any

import numpy as np

from .._base.validation import warn
from .._model.columns import DTYPES
from .._model.model import Model
from . import codec, coding
from .codec import Estimators, StoredEstimator, decode, encode
from .coding import PREFIX, decode_columns, encode_columns
from .container import Header, HeaderTooLongError, Metadata, Tensors, read_header, read_some, read_tensors, to_chunks
from .networks import own_module
from .schema import FORMAT as SCHEMA

FORMAT = "boostforest"
FORMAT_VERSION = 7

_CODED = "coded"  # metadata: which columns are
_FIELD = "metadata."  # begins the names of tensors that are metadata without room in the header
_LONG_FIELD = 2**16  # bytes of metadata that leave the header, should it be too long

_MAX_REASON = 300  # characters: a reason may quote the file

Path = str | os.PathLike[str]


def save(
    name: str, estimators: Estimators, params: dict[str, Any], model: Model, path: Path, dtype: str | None
) -> None:
    """Write the model of an estimator of that name and its parameters."""
    path = os.fsdecode(path)
    dtype = model.columns.dtype.name if dtype is None else dtype
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be None or one of {', '.join(map(repr, DTYPES))}; got {dtype!r}.")
    try:
        chunks, lost = _chunks_of(name, estimators, params, model, dtype)
    except ValueError as error:
        raise ValueError(f"The model cannot be saved to {path!r}: {_reason(error)}") from error
    replace_file(path, chunks)
    if lost:
        warn(
            f"{', '.join(lost)} cannot be stored in a model file: after load_model the default is used, which "
            "matters only if the model is fitted again."
        )


def file_size(name: str, params: dict[str, Any], model: Model) -> int:
    """Return how many bytes a file of the model would have."""
    tensors, metadata, _ = encode(params, model, model.columns.dtype.name)
    return sum(len(chunk) for chunk in _coded_chunks(name, tensors, metadata))


def _chunks_of(
    name: str, estimators: Estimators, params: dict[str, Any], model: Model, dtype: str
) -> tuple[list[bytes | memoryview], list[str]]:
    """Return the bytes of a file, and the parameters that have no place in it."""
    tensors, metadata, lost = encode(params, model, dtype)
    # What is written can be read.
    decode(name, estimators, tensors, metadata, own_module(model.params["node_model"]))
    return _coded_chunks(name, tensors, metadata), lost


def _coded_chunks(name: str, tensors: Tensors, metadata: Metadata) -> list[bytes | memoryview]:
    """Return the bytes of a file, with columns coded where that is shorter."""
    tensors, coded = encode_columns(tensors)
    head = {
        "format": FORMAT,
        "format_version": str(_version(tensors, metadata)),
        "boostforest_version": version("boostforest"),
        "estimator": name,
    }
    if coded is not None:
        head[_CODED] = coded
    return _to_chunks(tensors, head | metadata)


def _version(tensors: Tensors, metadata: Metadata) -> int:
    """Return the lowest version of the format that has all this."""
    return max(SCHEMA.version(tensors), coding.version(tensors), codec.version(tensors, metadata))


def load(path: Path, estimators: Estimators, own_module: Any = None) -> StoredEstimator:
    """Return the estimator in a file; ``own_module`` is what networks are made of where the file cannot say it."""
    path = os.fsdecode(path)
    try:
        with _open_regular(path) as file:
            header = read_header(file, os.fstat(file.fileno()).st_size)
            name, metadata = _take_head(header)
            tensors = read_tensors(file, header)
        metadata |= _take_fields(tensors, metadata)
        if _CODED in metadata or any(tensor.startswith(PREFIX) for tensor in tensors):
            tensors = decode_columns(tensors, metadata.pop(_CODED, None))
        return decode(name, estimators, tensors, metadata, own_module)
    except ValueError as error:
        raise ValueError(f"{path!r} cannot be loaded: {_reason(error)}") from error


def read_description(path: Path) -> tuple[dict[str, str], dict[str, int]]:
    """Return a model file's metadata and the bytes of its parts, without reading the model itself."""
    path = os.fsdecode(path)
    try:
        with _open_regular(path) as file:
            header = read_header(file, os.fstat(file.fileno()).st_size)
            _, metadata = _take_head(header)
            fields = _take_fields(read_some(file, header, _FIELD), metadata)
    except ValueError as error:
        raise ValueError(f"{path!r} cannot be loaded: {_reason(error)}") from error
    sizes = {entry.name: entry.end - entry.begin for entry in header.entries}
    return header.metadata | fields, sizes | {"header": len(header.text)}


def _take_head(header: Header) -> tuple[str, dict[str, str]]:
    """Check what all versions of the format have; return the estimator's name and the rest of the metadata."""
    metadata = dict(header.metadata)
    if metadata.pop("format", None) != FORMAT:
        raise ValueError("it is not a boostforest model file")
    made_by = metadata.pop("boostforest_version", "?")
    number = metadata.pop("format_version", "")
    if not (number.isascii() and number.isdecimal() and 0 < len(number) < 10) or int(number) < 1:
        raise ValueError(f"it has the impossible format version {number!r}")
    if int(number) > FORMAT_VERSION:
        raise ValueError(
            f"it has format version {number}, written by boostforest {made_by}, and this one reads versions up to "
            f"{FORMAT_VERSION}: upgrade boostforest"
        )
    metadata.pop("sha256", None)  # compared when the tensors are read
    return metadata.pop("estimator", ""), metadata


def _to_chunks(tensors: Tensors, metadata: Metadata) -> list[bytes | memoryview]:
    """Return the bytes of a file; names and parameters without room in the header become tensors."""
    try:
        return to_chunks(tensors, metadata)
    except HeaderTooLongError:
        long = {name: text for name, text in metadata.items() if len(text) > _LONG_FIELD}
        moved = {f"{_FIELD}{name}": np.frombuffer(text.encode(), dtype=np.uint8) for name, text in long.items()}
        return to_chunks(tensors | moved, {name: text for name, text in metadata.items() if name not in long})


def _take_fields(tensors: Tensors, metadata: Metadata) -> Metadata:
    """Take the metadata out of the tensors that have no room in the header."""
    fields = {}
    for name in [name for name in tensors if name.startswith(_FIELD)]:
        array, field = tensors.pop(name), name.removeprefix(_FIELD)
        if array.dtype != np.uint8 or array.ndim != 1 or field in metadata:
            raise ValueError(f"tensor {name!r} must be uint8 and have one dimension, and stand for metadata once")
        try:
            fields[field] = array.tobytes().decode("ascii")
        except UnicodeDecodeError as error:
            raise ValueError(f"tensor {name!r} is not ASCII") from error
    return fields


def _reason(error: ValueError) -> str:
    """Return the reason as the end of a sentence; what it quotes of the file cannot write on a terminal."""
    text = str(error).rstrip(".")
    shown = "".join(c if c.isprintable() else "?" for c in text[:_MAX_REASON])
    return shown + (" …." if len(text) > _MAX_REASON else ".")


def _require_regular(path: str, mode: int) -> None:
    """Refuse folders, and pipes and devices: they have no size, or no end, and must not be replaced."""
    if not stat.S_ISREG(mode):
        is_folder = stat.S_ISDIR(mode)
        raise OSError(*((errno.EISDIR, "Is a directory") if is_folder else (errno.EINVAL, "Not a regular file")), path)


def _open_regular(path: str) -> BufferedReader:
    _require_regular(path, os.stat(path).st_mode)  # before it is opened: a pipe would wait for a writer
    return open(path, "rb")


def replace_file(path: str, chunks: Iterable[bytes | memoryview]) -> None:
    """Write beside the file, then put it in its place: whatever happens, the path has the old file or the new one."""
    target = os.path.realpath(path)  # a link stays one
    folder = os.path.dirname(target)
    beside = os.path.join(folder, f".boostforest-{secrets.token_hex(8)}.tmp")
    try:
        mode = _mode_of_file(target)
        with _removed_on_failure(beside), open(beside, "xb", opener=None if mode is None else _open_private) as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
            file.close()
            if mode is not None:
                os.chmod(beside, mode)
            os.replace(beside, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    _sync_folder(folder)


def _open_private(path: str, flags: int) -> int:
    """Open a new file that nobody else can read before it has the permissions of the one that it replaces."""
    return os.open(path, flags, 0o600)


def _mode_of_file(target: str) -> int | None:
    """Return the permissions of the file that is replaced, None without one."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    _require_regular(target, mode)
    return stat.S_IMODE(mode)


@contextlib.contextmanager
def _removed_on_failure(path: str) -> Iterator[None]:
    try:
        yield
    except BaseException:  # Ctrl-C as well
        with contextlib.suppress(OSError):
            os.remove(path)
        raise


def _sync_folder(folder: str) -> None:
    """Make the new name last through a power cut, where folders can be opened (not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
