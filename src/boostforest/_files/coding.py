"""Columns in fewer bytes, without loss: what a coded column is, and back.

The column ``name`` is coded as the tensor ``coded.<name>``: a byte that says how, then streams of the core's entropy
coder, each behind the number of its bytes. Which columns are coded, their types and their numbers of values stand in
the metadata; they are compared with the bytes that are there before memory is taken. ``docs/dev/format.md`` has the
details.
"""

from dataclasses import fields
from typing import Any

import numpy as np

from .. import _core
from .._base.typing import Array, Bytes, Ints, Longs, Mask, Signs
from .._model.columns import ForestColumns
from .container import ITEMS, Tensors, parse_json, to_json

PREFIX = "coded."
MAX_EXPANSION = 256  # bytes of a column for each of its coded ones; fewer are filled up with zeros
_SMALL = 4096  # bytes: shorter columns stay as they are
_GAIN = 0.9  # of the bytes, at most: others do too

# How a column is coded; from _RUNS on: since version 4 of the format, from _BY_TREE on: since version 5.
_PLAIN, _OF_SPLITS, _STRUCTURE, _MODELS, _DIFFERENCES, _RUNS, _LEVELS, _TABLE, _STEPS, _LEFT_ONLY, _BY_TREE = range(11)
_RAW, _ALONE, _BY_BYTE_ABOVE, _KNOWN = range(4)  # how a plane is
_COLUMNS = {
    "tree_start",
    "kind",
    "tree_seeds",
    "absent",
    "feature",
    "threshold",
    "missing_left",
    "left",
    "n_samples",
    "loss",
    "gain",
    "lower",
    "upper",
    "params",
    "exponent",
    "residual_leaf",
    "hidden",
}  # that may be coded
_SINCE_6 = {PREFIX + "hidden"}  # in version 6 of the format
_SHAPES = (
    ("tree_start", np.int64),
    ("left", np.int32),
    ("kind", np.uint8),
    ("exponent", np.int8),
    ("sum_path", np.bool_),
)  # what the parameters' places follow from
_TABLES = {"absent", "residual_leaf"}  # a row for each tree
_RUNS_OF = {"tree_seeds", "absent", "loss", "lower", "upper", "exponent"}  # boosted trees have long ones
_MOST_ENTRIES = 2**16 - 1  # of a feature in a table of thresholds
_LEAST_REPEATED = 3  # times that a threshold occurs to be in the table
_FIRST_COLUMNS = ("tree_start", "left", "feature", "exponent")  # others need them to be decoded
_AT_LEAVES = {"feature": -1, "threshold": 0, "missing_left": 0, "gain": 0}  # what these hold where nothing is split

# ------------------------------------------------------------------------------------------------------------- encoding


def encode_columns(tensors: Tensors) -> tuple[Tensors, str | None]:
    """Return the tensors with columns coded where that takes fewer bytes, and what the metadata says of them."""
    kept, table = {}, {}
    for name, array in tensors.items():
        coded = None if _stays(name, array) else _encode_column(name, array, tensors)
        if coded is None or len(coded) > _GAIN * array.nbytes:
            kept[name] = array
        else:
            kept[PREFIX + name] = coded
            table[name] = [_type_name(array.dtype), array.size]
    return kept, to_json(table) if table else None


def _stays(name: str, array: Array) -> bool:
    # The last digits of floats are noise, and there are many of them.
    is_noise = name == "params" and array.dtype.kind == "f" and array.itemsize > 2
    return name not in _COLUMNS or array.nbytes < _SMALL or is_noise


def _type_name(dtype: np.dtype[Any]) -> str:
    return next(name for name, item in ITEMS.items() if item == dtype.newbyteorder("<"))


def version(tensors: Tensors) -> int:
    """Return the version of the format that knows how columns are coded, from 2 on."""
    way = max((array[0] for name, array in tensors.items() if name.startswith(PREFIX)), default=0)
    if _SINCE_6 & tensors.keys():
        return 6
    return 5 if way >= _BY_TREE else 4 if way >= _RUNS else 2


def _encode_column(name: str, array: Array, tensors: Tensors) -> Bytes:
    if name == "left" and (bits := _split_bits(array, tensors)) is not None:
        parts = _joined(_STRUCTURE, [bits])
    elif name == "params" and array.dtype == np.int8:
        ways = ((_MODELS, False), (_DIFFERENCES, True))
        shapes = _model_shapes(tensors)
        coded = {way: _core.encode_params(array, *shapes, differences) for way, differences in ways}
        way = min(coded, key=lambda way: len(coded[way]))
        parts = _joined(way, [coded[way]])
    elif name == "tree_start":
        parts = _joined(_STEPS, _encode_planes(np.diff(array)))
    else:
        parts = min(_ways(name, array, tensors), key=len)
    missing = -(-array.nbytes // MAX_EXPANSION) - len(parts)
    return np.append(parts, np.zeros(max(missing, 0), dtype=np.uint8))


def _ways(name: str, array: Array, tensors: Tensors) -> list[Bytes]:
    """Return a column coded in all ways that are worth trying."""
    if name in _RUNS_OF and len(array):
        bits, values = _runs(array)
        plain = _joined(_PLAIN, _encode_planes(array.reshape(-1)))
        return [plain, _joined(_RUNS, [*_encode_planes(bits), *_encode_planes(values.reshape(-1))])]
    if name == "residual_leaf":
        return [_joined(_BY_TREE, _encode_planes(array.reshape(-1), _trees_as_contexts(*array.shape)))]
    if name in _AT_LEAVES and (array[tensors["left"] == 0] == _AT_LEAVES[name]).all():
        coded = [_joined(_OF_SPLITS, _encode_planes(array[tensors["left"] > 0]))]
        order = _level_order(tensors)
        bits, values = _runs(array[order])
        if len(values) == len(order):  # no two are the same
            return coded
        coded.append(_joined(_LEVELS, [*_encode_planes(bits), *_encode_planes(values)]))
        if name == "threshold":
            features = tensors["feature"][order][_changes(bits, len(order))]
            coded.append(_joined(_TABLE, [*_encode_planes(bits), *_encode_table(values, features, tensors)]))
        return coded
    if name == "n_samples" and array.dtype == np.float32:
        shape = tensors["tree_start"], tensors["left"]
        kept = _all_but_right(*shape)
        if np.array_equal(_core.complete_weights(*shape, np.where(kept, array, np.float32(0))), array):
            return [_joined(_LEFT_ONLY, _encode_planes(array[kept]))]
    return [_joined(_PLAIN, _encode_planes(array))]


def _joined(way: int, streams: list[Bytes]) -> Bytes:
    head = np.array([len(stream) for stream in streams], dtype="<u8").view(np.uint8)
    return np.concatenate([np.array([way], dtype=np.uint8), head, *streams])


def _split_bits(left: Array, tensors: Tensors) -> Bytes | None:
    """Return a bit per node, whether it is split, if the children follow from them."""
    start = tensors["tree_start"]
    is_split = (left[_depth_first(start, left)] > 0).astype(np.uint8)
    return np.packbits(is_split) if np.array_equal(_core.left_children(start, is_split), left) else None


def _encode_planes(array: Array, known: tuple[Bytes, int] | None = None) -> list[Bytes]:
    """Return a stream for each byte of the values, the highest first; ``known`` are contexts of all of them."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    planes = little.view(np.uint8).reshape(-1, array.itemsize).T[::-1]
    streams: list[Bytes] = []
    above: Bytes | None = None
    for plane in map(np.ascontiguousarray, planes):
        ways = {_RAW: plane, _ALONE: _core.encode_bytes(plane, None, 1)}
        if above is not None:
            ways[_BY_BYTE_ABOVE] = _core.encode_bytes(plane, *_contexts(above))
        if known is not None:
            ways[_KNOWN] = _core.encode_bytes(plane, *known)
        way = min(ways, key=lambda way: len(ways[way]))
        streams.append(np.append(np.uint8(way), ways[way]))
        above = plane
    return streams


def _contexts(above: Array) -> tuple[Bytes, int]:
    """Return a context for each of the most frequent numbers, and one for all others; and how many there are."""
    counts = np.bincount(above, minlength=256)
    frequent = np.argsort(-counts, kind="stable")[: _core.MAX_CONTEXTS - 1]
    context = np.zeros(len(counts), dtype=np.uint8)
    context[frequent] = np.arange(1, len(frequent) + 1, dtype=np.uint8)
    return context[above], _core.MAX_CONTEXTS


def _trees_as_contexts(n_trees: int, n_rows: int) -> tuple[Bytes, int]:
    """Return a context for each tree, if they are few; each has a value per row."""
    trees = np.arange(n_trees) % _core.MAX_CONTEXTS
    return np.repeat(trees.astype(np.uint8), n_rows), _core.MAX_CONTEXTS


def _runs(array: Array) -> tuple[Bytes, Array]:
    """Return a bit per row, whether it differs from the row before it, and the rows that do."""
    if len(array) == 0:
        return np.empty(0, dtype=np.uint8), array
    raw = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)  # as bytes: 0 is not -0
    changes = np.append(True, (raw[1:] != raw[:-1]).any(axis=1))
    return np.packbits(changes), array[changes]


def _encode_table(values: Array, features: Ints, tensors: Tensors) -> list[Bytes]:
    """Return the streams of thresholds that are numbers in a table, which has those of a feature that occur often."""
    sizes = np.zeros(len(tensors["feature_mean"]), dtype=np.uint32)
    number, entries = np.zeros(len(values), dtype=np.uint16), []
    for feature in np.unique(features).tolist():
        places = np.flatnonzero(features == feature)
        different, index, counts = np.unique(values[places], return_inverse=True, return_counts=True)
        often = np.flatnonzero(counts >= _LEAST_REPEATED)[:_MOST_ENTRIES]
        number_of = np.zeros(len(different), dtype=np.uint16)
        number_of[often] = np.arange(1, len(often) + 1)
        number[places], sizes[feature] = number_of[index], len(often)
        entries.append(different[often])
    return [
        *_encode_planes(sizes),
        *_encode_planes(np.concatenate([*entries, values[:0]])),
        *_encode_planes(number, _contexts(features)),
        *_encode_planes(values[number == 0]),
    ]


# ------------------------------------------------------------------------------------------------------------- decoding


def decode_columns(tensors: Tensors, text: str | None) -> Tensors:
    """Return the tensors with all columns as they were; ``text`` is what the metadata says of them."""
    table = {} if text is None else parse_json(text, "metadata 'coded'")
    if not isinstance(table, dict) or {PREFIX + name for name in table} != {n for n in tensors if n.startswith(PREFIX)}:
        raise ValueError("metadata 'coded' must name the tensors that are coded")
    plain = {name: array for name, array in tensors.items() if not name.startswith(PREFIX)}
    coded = {name: _column(PREFIX + name, np.uint8, tensors) for name in table}
    dtypes = {name: _check_size(name, entry, coded[name], plain) for name, entry in table.items()}
    # Parameters last: they need shapes and units.
    others = sorted(name for name in table if name not in (*_FIRST_COLUMNS, "params"))
    for name in (name for name in (*_FIRST_COLUMNS, *others, "params") if name in table):
        array = _decode_column(name, coded[name], dtypes[name], table[name][1], plain)
        array = array.astype(dtypes[name].newbyteorder("="), copy=False)
        plain[name] = _in_rows(name, array, plain) if name in _TABLES else array
    return plain


def _check_size(name: str, entry: Any, coded: Bytes, plain: Tensors) -> np.dtype[Any]:
    """Check what is said of a column, before memory is taken for it; return its type."""
    is_entry = isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) and type(entry[1]) is int
    if not is_entry or entry[0] not in ITEMS or entry[0] == "BOOL":
        raise ValueError(f"metadata 'coded' must give type and number of values of {name!r}")
    dtype, n = ITEMS[entry[0]], entry[1]
    if name in plain or name not in _COLUMNS:
        raise ValueError(f"tensor '{PREFIX}{name}' must stand for a column, and once")
    if not 0 <= n * dtype.itemsize <= MAX_EXPANSION * len(coded):
        raise ValueError(f"tensor '{PREFIX}{name}' is too short for {n} values")
    return dtype


def _decode_column(name: str, coded: Bytes, dtype: np.dtype[Any], n: int, plain: Tensors) -> Array:
    way = int(coded[0]) if len(coded) else -1
    if way == _PLAIN:
        return _decode_planes(_streams(coded, dtype.itemsize), dtype, n)
    if way == _OF_SPLITS and name in _AT_LEAVES:
        is_split = _column("left", np.int32, plain) > 0
        if len(is_split) != n:
            raise ValueError(f"tensor '{PREFIX}{name}' must have a value for each node")
        array = np.full(n, _AT_LEAVES[name], dtype=dtype)
        streams = _streams(coded, dtype.itemsize)
        array[is_split] = _decode_planes(streams, dtype, int(np.count_nonzero(is_split)))
        return array
    if way == _STRUCTURE and name == "left":
        (bits,) = _streams(coded, 1)
        if len(bits) != -(-n // 8):
            raise ValueError("tensor 'coded.left' must have a bit for each node")
        return _core.left_children(_column("tree_start", np.int64, plain), np.unpackbits(bits, count=n))
    if way == _RUNS and name in _RUNS_OF:
        return _decode_runs(coded, dtype, n, _n_trees(plain) if name == "absent" else n)
    if way in (_LEVELS, _TABLE) and name in _AT_LEAVES:
        return _decode_levels(name, coded, dtype, n, plain)
    if way == _BY_TREE and name == "residual_leaf":
        n_trees = _n_rows(name, n, plain)
        contexts = _trees_as_contexts(n_trees, n // n_trees)
        return _decode_planes(_streams(coded, dtype.itemsize), dtype, n, contexts)
    if way == _STEPS and name == "tree_start" and dtype == np.int64 and n > 0:
        steps = _decode_planes(_streams(coded, 8), dtype, n - 1)
        return np.append(0, np.cumsum(steps))
    if way == _LEFT_ONLY and name == "n_samples" and dtype == np.float32:
        shape = _column("tree_start", np.int64, plain), _column("left", np.int32, plain)
        kept = _all_but_right(*shape)
        if len(kept) != n:
            raise ValueError("tensor 'coded.n_samples' must have a value for each node")
        weight = np.zeros(n, dtype=np.float32)
        weight[kept] = _decode_planes(_streams(coded, 4), dtype, int(np.count_nonzero(kept)))
        return _core.complete_weights(*shape, weight)
    if way in (_MODELS, _DIFFERENCES) and name == "params" and dtype == np.int8:
        (stream,) = _streams(coded, 1)
        return _core.decode_params(stream, n, *_model_shapes(plain), way == _DIFFERENCES)
    raise ValueError(f"tensor '{PREFIX}{name}' is coded in an unknown way")


def _streams(coded: Bytes, n_streams: int) -> list[Bytes]:
    """Return the streams of a coded column; what is behind them must be zeros."""
    at = 1 + 8 * n_streams
    if len(coded) < at:
        raise ValueError("a coded column is damaged")
    streams = []
    for length in coded[1:at].copy().view("<u8").tolist():
        if length > len(coded) - at:
            raise ValueError("a coded column is damaged")
        streams.append(coded[at : at + length])
        at += length
    if coded[at:].any():
        raise ValueError("a coded column is damaged")
    return streams


def _decode_planes(streams: list[Bytes], dtype: np.dtype[Any], n: int, known: tuple[Bytes, int] | None = None) -> Array:
    planes = np.empty((n, dtype.itemsize), dtype=np.uint8)
    above: Bytes | None = None
    for place, stream in enumerate(streams):
        way = stream[0] if len(stream) else -1
        if way == _RAW and len(stream) == 1 + n:
            plane = stream[1:]
        elif way == _ALONE:
            plane = _core.decode_bytes(stream[1:], n, None, 1)
        elif way == _BY_BYTE_ABOVE and above is not None:
            plane = _core.decode_bytes(stream[1:], n, *_contexts(above))
        elif way == _KNOWN and known is not None:
            plane = _core.decode_bytes(stream[1:], n, *known)
        else:
            raise ValueError("a coded column is damaged")
        planes[:, dtype.itemsize - 1 - place] = above = plane
    return planes.reshape(-1).view(dtype)


def _decode_runs(coded: Bytes, dtype: np.dtype[Any], n: int, n_rows: int) -> Array:
    """Return what _runs has taken apart: so many values in so many rows."""
    if n_rows < 1 or n % n_rows:
        raise ValueError("a coded column must have as many values in all rows")
    streams = _streams(coded, 1 + dtype.itemsize)
    changes = _changes(_decode_bits(streams[:1], n_rows), n_rows)
    number = np.cumsum(changes)
    values = _decode_planes(streams[1:], dtype, int(number[-1]) * (n // n_rows))
    return np.asarray(values.reshape(int(number[-1]), -1)[number - 1].reshape(-1))


def _decode_levels(name: str, coded: Bytes, dtype: np.dtype[Any], n: int, plain: Tensors) -> Array:
    """Return a column of which inner nodes have values, by runs in the order of levels."""
    order, is_table = _level_order(plain), coded[0] == _TABLE
    if len(plain["left"]) != n or len(order) == 0 or (is_table and (name != "threshold" or dtype != np.float64)):
        raise ValueError(f"tensor '{PREFIX}{name}' is coded in an unknown way")
    streams = _streams(coded, 1 + (8 + 4 + 8 + 2 if is_table else dtype.itemsize))
    changes = _changes(_decode_bits(streams[:1], len(order)), len(order))
    number = np.cumsum(changes)
    if is_table:
        features = _column("feature", np.int32, plain)
        if len(features) != n:
            raise ValueError("tensor 'coded.threshold' needs a feature for each node")
        values = _decode_table(streams[1:], features[order][changes], plain)
    else:
        values = _decode_planes(streams[1:], dtype, int(number[-1]))
    array = np.full(n, _AT_LEAVES[name], dtype=dtype)
    array[order] = values[number - 1]
    return array


def _decode_table(streams: list[Bytes], features: Ints, plain: Tensors) -> Array:
    """Return thresholds of which most are numbers in a table."""
    n_features = len(_column("feature_mean", np.float64, plain))
    if not ((features >= 0) & (features < n_features)).all():
        raise ValueError("tensor 'coded.threshold' needs features that there are")
    sizes = _decode_planes(streams[:4], np.dtype("<u4"), n_features).astype(np.int64)
    if sizes.sum() > len(features):
        raise ValueError("tensor 'coded.threshold' has a table that is too long")
    double = np.dtype("<f8")
    table = _decode_planes(streams[4:12], double, int(sizes.sum()))
    number = _decode_planes(streams[12:14], np.dtype("<u2"), len(features), _contexts(features)).astype(np.int64)
    if (number > sizes[features]).any():
        raise ValueError("tensor 'coded.threshold' has numbers that are not in its table")
    others = number == 0
    values = np.empty(len(features))
    values[others] = _decode_planes(streams[14:], double, int(np.count_nonzero(others)))
    first = np.cumsum(sizes) - sizes
    values[~others] = table[(first[features] + number - 1)[~others]]
    return values


def _decode_bits(streams: list[Bytes], n: int) -> Bytes:
    """Return the bits of so many rows, eight in a byte, of which the first is 1."""
    bits = _decode_planes(streams, np.dtype(np.uint8), -(-n // 8))
    if not bits[0] >> 7:
        raise ValueError("a coded column is damaged")
    return bits


def _changes(bits: Bytes, n: int) -> Mask:
    return np.unpackbits(bits, count=n).astype(np.bool_)


# --------------------------------------------------------------------------------------------------------------- shapes


def _n_trees(plain: Tensors) -> int:
    return len(_column("tree_start", np.int64, plain)) - 1


def _n_rows(name: str, n: int, plain: Tensors) -> int:
    """Return how many trees a column of n values has a row for."""
    n_trees = _n_trees(plain) if name == "absent" else len(_column("leaf_tree", np.int64, plain))
    if n_trees < 1 or n % n_trees:
        raise ValueError(f"tensor '{PREFIX}{name}' must have as many values for each tree")
    return n_trees


def _in_rows(name: str, array: Array, plain: Tensors) -> Array:
    """Return values of trees in a row for each tree."""
    return array.reshape(_n_rows(name, array.size, plain), -1)


def _all_but_right(tree_start: Array, left: Array) -> Mask:
    """Return which nodes are roots or left children."""
    _core.node_depths(tree_start, left)  # checks them
    inner = np.flatnonzero(left > 0)
    first = np.repeat(tree_start[:-1], np.diff(tree_start))
    kept = np.ones(len(left), dtype=bool)
    kept[first[inner] + left[inner] + 1] = False
    return kept


def _level_order(tensors: Tensors) -> Longs:
    """Return the nodes that are split tree by tree, in each those of the least depth first."""
    start, left = _column("tree_start", np.int64, tensors), _column("left", np.int32, tensors)
    depth = _core.node_depths(start, left)
    inner = np.flatnonzero(left > 0)
    tree = np.repeat(np.arange(len(start) - 1), np.diff(start))[inner]
    return inner[np.lexsort((depth[inner], tree))]


def _column(name: str, dtype: Any, tensors: Tensors) -> Array:
    """Return a tensor that a column needs to be decoded, if it is as it must be."""
    if name not in tensors:
        raise ValueError(f"tensors are missing: {name}")
    array = tensors[name]
    if array.dtype != dtype:
        raise ValueError(f"tensor {name!r} must be {np.dtype(dtype)}; got {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"tensor {name!r} must have the shape ({array.size},); got {array.shape}")
    return array


def _depth_first(tree_start: Array, left: Array) -> Longs:
    """Return the nodes of all trees depth first, counted over the whole forest."""
    order: Longs = _core.depth_first_nodes(tree_start, left)
    return np.asarray(order + np.repeat(tree_start[:-1], np.diff(tree_start)))


def _model_shapes(tensors: Tensors) -> tuple[Longs, Longs, int, Longs, Signs]:
    """Return models and parameters per output of every tree, the outputs, an order of the models, and their units.

    Models that leaves alone have are ordered depth first: neighbours then have most of their path in common.
    """
    start, left, kind = (_column(n, t, tensors) for n, t in _SHAPES[:3])
    exponent, sum_path = (_column(n, t, tensors) for n, t in _SHAPES[3:])
    dfs = _depth_first(start, left)
    optional = {"hidden_start": np.int64, "model_features": np.int32, "monotonic_cst": np.int8}
    roles = {name: _column(name, dtype, tensors) for name, dtype in optional.items() if name in tensors}
    hidden_start = roles.pop("hidden_start", np.zeros(len(start), dtype=np.int64))
    if not len(start) == len(kind) + 1 == len(sum_path) + 1 == len(hidden_start):
        raise ValueError("a coded column needs as many trees as there are")
    classes = tensors.get("classes", np.empty(1))
    shape: dict[str, Any] = dict.fromkeys(f.name for f in fields(ForestColumns))
    shape |= {"tree_start": start, "kind": kind, "sum_path": sum_path, "hidden_start": hidden_start, **roles}
    shape |= {"feature": np.where(left > 0, 0, -1), "n_features": len(_column("feature_mean", np.float64, tensors))}
    n_outputs = len(classes) if classes.ndim and len(classes) > 2 else 1
    if "target_end" in tensors:
        n_outputs = int(_column("target_end", np.int32, tensors)[-1:].sum())
        if not 0 < n_outputs < 2**24:
            raise ValueError("target_end must end with the number of outputs")
    forest = ForestColumns(**shape | {"n_outputs": n_outputs})
    number = np.full(len(dfs), -1, dtype=np.int64)  # of a node's model in its tree
    has_model = forest.has_model
    number[has_model] = np.cumsum(has_model)[has_model] - 1
    n_models = np.add.reduceat(has_model, start[:-1], dtype=np.int64)
    number -= np.repeat(np.cumsum(n_models) - n_models, np.diff(start))
    at_all = np.repeat(forest.at_all_nodes, np.diff(start))
    visited = np.where(at_all, np.arange(len(dfs)), dfs)
    order = number[visited][has_model[visited]]
    return n_models, 1 + forest.n_inputs, forest.n_outputs, order, exponent
