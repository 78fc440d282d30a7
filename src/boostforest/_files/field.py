"""How one list of fields writes, reads, checks and documents a file; ``schema`` has the list."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._features.calendar import ALL_PARTS, DAYS, HOUR, INDICATOR, count_parts
from .._features.encoder import N_ORDERS
from .._features.imputer import MAX_FEATURES, is_distribution
from .._features.text import N_HASHED
from .._model.columns import DTYPES, clip_range_dtype
from ..nodes._native import PYTHON
from .container import ITEMS, Metadata, Tensors, parse_json, to_json

# ------------------------------------------------------------------------------------------------------ what a field is


@dataclass(frozen=True)
class When:
    """Which files have a field; optional fields of the same ``When`` are there together, or none of them."""

    says: str  #: in the documentation
    optional: bool = True  #: else such files must have it
    task: str | None = None  #: only models for this task
    forests: bool = False  #: only forests
    needs: str | None = None  #: a tensor that must be there as well


@dataclass(frozen=True)
class Content:
    """What a file holds besides the field that is checked: other tensors, other metadata, sizes of dimensions."""

    estimator: str
    task: str
    forest: bool
    metadata: dict[str, Any]  #: parsed
    tensors: Tensors
    sizes: dict[str, int]


Check = Callable[[str, Any, Content], None]  # name of the field, its value; ValueError says what is wrong


@dataclass(frozen=True)
class Field:
    """A tensor, or a piece of metadata."""

    name: str  #: "<…>" stands for any text
    #: types in files, the one in memory first; "coefficient", "clip range": what ``dtype`` in the metadata says
    dtype: str
    shape: str  #: dimensions, "()" for none; those of the same name have the same size, "any" and "…" have any
    doc: str
    when: When
    checks: tuple[Check, ...] = ()
    since: int = 1  #: version of the format
    default: str | None = None  #: of metadata that older files do not have


ALWAYS = When("always", optional=False)


# ----------------------------------------------------------------------------------------------------- what is checked

_SEVERAL = "target_end"  # a tensor that models of several targets have
# What may become of a column.
NUMBER, NUMBER_AND_INDICATOR, ONE_HOT, MEANS, LEFT_OUT, CALENDAR, TEXT, MEANS_AND_ORDERS = range(8)


def rule(says: str, holds: Callable[[Any, Content], Any]) -> Check:
    """Return a check: ``says`` is the message if it does not hold, "{name}" stands for the field."""

    def check(name: str, value: Any, content: Content) -> None:
        if not holds(value, content):
            raise ValueError(says.format(name=name))

    return check


def _ascends(array: npt.NDArray[Any], strictly: bool = False) -> bool:
    # Compared, not subtracted: the differences of hostile numbers overflow.
    return bool((array[:-1] < array[1:] if strictly else array[:-1] <= array[1:]).all())


def starts(parts: str, least: int = 0) -> Check:
    """Return a check of where parts begin: from 0 to their number, each with at least so many."""
    return rule(
        f"tensor '{{name}}' must ascend from 0 to the number of {parts}",
        lambda a, c: a[0] == 0 and a[-1] == c.sizes[parts] and _ascends(a, strictly=least > 0),
    )


FINITE = rule("tensor '{name}' has values that are not finite", lambda a, _: np.isfinite(a).all())
POSITIVE = rule("tensor '{name}' has values that are not above zero", lambda a, _: (a > 0).all())
WEIGHTS = rule("tensor '{name}' must hold values above zero", lambda a, _: len(a) > 0 and (a > 0).all())
NOT_NEGATIVE = rule("tensor '{name}' has values below zero", lambda a, _: (a >= 0).all())
BIT = rule("tensor '{name}' has values other than 0 and 1", lambda a, _: (a <= 1).all())
ASCENDING = rule("tensor '{name}' must ascend", lambda a, _: _ascends(a))
CLIP_RANGE = rule("a clip range in 'lower' and 'upper' is empty", lambda upper, c: (c.tensors["lower"] <= upper).all())
SPLIT_FEATURES = rule(
    "tensor '{name}' must hold numbers of features, ascending",
    lambda a, c: len(a) > 0 and a[0] >= 0 and a[-1] < c.sizes["features"] and _ascends(a, strictly=True),
)
STAGE_END = rule(
    "tensor '{name}' must ascend from above 0 to the number of trees",
    lambda a, c: len(a) > 0 and a[0] > 0 and a[-1] == c.sizes["trees"] and _ascends(a, strictly=True),
)
SOME_TREES = rule(
    "tensor '{name}' must hold numbers of trees, ascending",
    lambda a, c: len(a) > 0 and a[0] >= 0 and a[-1] < c.sizes["trees"] and _ascends(a, strictly=True),
)
TWO_ROWS = rule("tensor '{name}' needs at least two rows in 'residuals'", lambda _, c: c.sizes["residuals"] > 1)
TARGET_END = rule(
    "tensor '{name}' must ascend from above 0",
    lambda a, _: len(a) > 0 and a[0] > 0 and _ascends(a, strictly=True) and a[-1] < 2**24,
)
_LEAST = 1e-100  # of what trees are multiplied with: a fit finds more, and products of smaller numbers can be 0
_MOST = 1000.0


def _are_steps(steps: npt.NDArray[Any], content: Content) -> bool:
    first = steps[0] >= 0 if "stage_units" in content.tensors else steps[0] == 1
    return bool(first and (steps[1:] >= _LEAST).all() and (steps <= _MOST).all())


def _are_units(units: npt.NDArray[Any], content: Content) -> bool:
    """Tell whether forests have a unit per tree, and boosted stages one for each run of trees with the same seed."""
    ends, seeds = content.tensors["stage_end"], content.tensors["tree_seeds"]
    is_first = np.append(True, seeds[1:] != seeds[:-1])
    is_first[np.clip(ends[:-1], 0, len(seeds) - 1)] = True
    n_runs = np.add.reduceat(is_first, np.append(0, ends[:-1]))
    n_trees = np.diff(ends, prepend=0)
    return bool(units[0] == n_trees[0] and ((units == n_trees) | (units == n_runs)).all())


STAGE_STEP = rule(f"tensor '{{name}}' must start with 1 and hold values from {_LEAST} to {_MOST:g}", _are_steps)
STAGE_UNITS = rule("tensor '{name}' must hold the trees of each stage, or its bags", _are_units)
FACTOR = rule(f"tensor '{{name}}' must be at least {_LEAST}", lambda a, _: a >= _LEAST)
PROBABILITY = rule(
    "tensor '{name}' must hold probabilities above 0 and below 1", lambda a, _: ((a > 0) & (a < 1)).all()
)
LEVEL_END = rule(
    "tensor '{name}' must ascend to the length of 'level_text'",
    lambda a, c: np.append(0, a)[-1] == len(c.tensors["level_text"]) and (a >= 0).all() and _ascends(a),
)
COLUMN_KINDS = rule("tensor '{name}' has unknown kinds", lambda a, _: len(a) > 0 and a.max() <= MEANS_AND_ORDERS)
CALENDAR_PARTS = rule(
    "tensor '{name}' has unknown parts, or none of a date",
    lambda a, _: ((a == 0) | (((a & DAYS) > 0) & (a <= ALL_PARTS)) | ((a | INDICATOR) == (HOUR | INDICATOR))).all(),
)
_FARTHEST = 1e14  # seconds, three million years: years beyond cannot be computed with
CALENDAR_ORIGIN = rule("tensor '{name}' has dates that are too far off", lambda a, _: (np.abs(a) <= _FARTHEST).all())
FILL = rule(
    "tensor '{name}' has values that are not finite, no symmetric precision, or a precision that is not positive",
    lambda a, _: is_distribution(a),
)
FEW_FEATURES = rule(
    f"tensor '{{name}}' is for at most {MAX_FEATURES} features", lambda _, c: c.sizes["features"] <= MAX_FEATURES
)


def check_weights_of_rows(name: str, n_samples: Any, content: Content) -> None:
    with np.errstate(over="ignore"):
        total = n_samples[content.tensors["feature"] < 0].sum(dtype=np.float64)
    if (n_samples < 0).any() or not 0 < total < np.inf:
        raise ValueError(f"tensor {name!r} has values that cannot be weights of rows")


def check_knots(name: str, array: Any, content: Content) -> None:
    """Check that values ascend within every output."""
    falls = array[1:] < array[:-1]
    falls[content.tensors["knot_start"][1:-1] - 1] = False  # from one output to the next
    if falls.any():
        raise ValueError(f"tensor {name!r} must ascend for every output")


def n_category_targets(content: Content) -> int:
    """Return the features of a category with means: one per output, or as many as the classes are combined to."""
    basis, outputs = content.tensors.get("class_basis"), content.sizes["outputs"]
    return outputs if basis is None else len(basis) // outputs


def check_sums(name: str, sum_path: Any, content: Content) -> None:
    """Check that trees of several classes have models at their leaves alone, but for networks."""
    several_classes = content.task == "classification" and content.sizes["outputs"] > 1
    if several_classes and (sum_path & (content.tensors["kind"] != PYTHON)).any():
        raise ValueError(f"tensor {name!r} must be 0 with more than two classes, but for networks")


def check_basis(name: str, basis: Any, content: Content) -> None:
    """Check that every output has as many values, at least one and fewer than there are outputs."""
    outputs = content.sizes["outputs"]
    if len(basis) % outputs or not 1 <= len(basis) // outputs < outputs:
        raise ValueError(f"tensor {name!r} must have as many values for each of the {outputs} outputs, but fewer")


def check_levels(name: str, means: Any, content: Content) -> None:
    """Check that categories have levels, levels their means, and all columns together the features of the trees."""
    kind, is_text, missing = (content.tensors[n] for n in ("column_kind", "level_is_text", "level_missing"))
    n_known = np.diff(content.tensors["level_start"])
    n_levels, targets = n_known + missing, n_category_targets(content)
    is_category = np.isin(kind, (ONE_HOT, MEANS, MEANS_AND_ORDERS))
    if (is_category != (n_levels > 0)).any() or (is_text & (n_known == 0)).any():
        raise ValueError("a category needs levels, and a column of numbers has none")
    width = np.where(kind == MEANS, targets, np.where(kind == MEANS_AND_ORDERS, targets + N_ORDERS, 0))
    n_means = int(n_levels @ width)
    if len(means) != n_means:
        raise ValueError(f"tensor {name!r} is too {'short' if len(means) < n_means else 'long'}")
    one_hot = np.where(n_levels == 2, 1, n_levels)
    parts = content.tensors.get("calendar_parts", np.zeros(len(kind), dtype=np.uint8))
    if ((kind == CALENDAR) != (parts > 0)).any():
        raise ValueError("a column of dates needs parts, and others have none")
    dates = np.array([count_parts(part) if part else 0 for part in parts.tolist()], dtype=np.int64)
    n_features = int(np.choose(kind, [1, 2, one_hot, width, 0, dates, N_HASHED, width]).sum())
    if n_features != content.sizes["features"]:
        raise ValueError(f"the columns make {n_features} features, but the trees have {content.sizes['features']}")


SPARSE_CHOSEN = rule(
    "tensor '{name}' must hold numbers of columns, ascending",
    lambda a, c: len(a) > 0 and a[0] >= 0 and a[-1] < c.sizes["columns"] and _ascends(a, strictly=True),
)


def check_sparse(name: str, values: Any, content: Content) -> None:
    """Check that there is a score for each feature that is not a column, and that each has all its slopes."""
    n_scores = content.sizes["features"] - len(content.tensors["sparse_chosen"])
    n_values = n_scores if name == "sparse_intercept" else n_scores * content.sizes["columns"]
    if "column_kind" in content.tensors or n_scores < 0 or len(values) != n_values:
        raise ValueError(f"tensor {name!r} does not fit to the number of features")


def check_classes(name: str, classes: Any, content: Content) -> None:
    kind = content.metadata["classes"]
    if kind not in ("number", "string", "object") or classes.ndim != (1 if kind == "number" else 2):
        raise ValueError("a classifier needs classes: numbers, or strings as rows of code points")
    if kind != "number":
        if classes.dtype != np.uint32 or classes.size == 0 or (classes > 0x10FFFF).any():
            raise ValueError(f"tensor {name!r} must hold code points of strings")
    elif classes.dtype.kind == "f":
        FINITE(name, classes, content)
    labels = classes if kind == "number" else strings(classes)
    if len(labels) == 0 or not _ascends(labels, strictly=True):
        raise ValueError(f"tensor {name!r} must ascend")


def strings(code_points: npt.NDArray[np.uint32]) -> npt.NDArray[np.str_]:
    """Return the strings whose code points are the rows."""
    return np.ascontiguousarray(code_points).view(f"U{code_points.shape[1]}").reshape(-1)


def check_columns(name: str, number: Any, content: Content) -> None:
    n_columns = content.sizes["columns"]
    if type(number) is not int or number != n_columns:
        raise ValueError(f"{name} must be {n_columns}, as the tensors have it; got {number!r}")


def check_names(name: str, names: Any, content: Content) -> None:
    n = content.sizes["columns"]
    is_list = isinstance(names, list) and len(names) == n and all(isinstance(text, str) for text in names)
    if names is not None and not is_list:
        raise ValueError(f"{name} must be null or {n} strings")


IS_NULL_OR_NUMBER = rule("{name} must be null or a number", lambda v, _: v is None or isinstance(v, float))
IS_OBJECT = rule("{name} must be an object", lambda v, _: isinstance(v, dict))
LOSS = rule(
    "{name} must be null, or an object from the name of a regressor's loss to its numbers",
    lambda v, c: (
        v is None or (isinstance(v, dict) and len(v) == 1 and (c.task == "regression" or _SEVERAL in c.tensors))
    ),
)
NO_REGRESSOR = rule("a regressor has no classes", lambda v, c: v is None or c.task != "regression")

_HEX = re.compile(r"0x[0-9a-fA-F]+")
_DIGEST = re.compile(r"([0-9a-f]{2})*")


def _is_entropy(value: Any, content: Content) -> bool:
    words = value if isinstance(value, list) else [value]
    return bool(words) and all(isinstance(word, str) and _HEX.fullmatch(word) for word in words)


def _is_draws(value: Any, content: Content) -> bool:
    return value is None or (
        isinstance(value, list)
        and [type(v) for v in value] == [bool, int, int, str]
        and _DIGEST.fullmatch(value[3]) is not None
    )


ENTROPY = rule("{name} must be a number in base 16, or a list of such", _is_entropy)
TARGET = rule(
    "{name} must be null, or a SHA-256 in base 16",
    lambda v, _: v is None or (isinstance(v, str) and len(v) == 64 and _DIGEST.fullmatch(v) is not None),
)
DRAWS = rule("{name} must be null, or a boolean, two integers and a checksum in base 16", _is_draws)

# ------------------------------------------------------------------------------------------------------ what a file is


@dataclass(frozen=True)
class Schema:
    """All fields of a file."""

    tensors: tuple[Field, ...]
    metadata: tuple[Field, ...]

    @cached_property
    def _json(self) -> list[Field]:
        return [field for field in self.metadata if field.dtype == "JSON"]

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field.name: field for field in self.tensors}

    @cached_property
    def _prefixes(self) -> dict[str, Field]:
        """What the names of many tensors begin with."""
        return {field.name.partition("<")[0]: field for field in self.tensors if "<" in field.name}

    def write(self, tensors: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[Tensors, Metadata]:
        """Return the fields of a model in the types of a file; None stands for a tensor that is not there."""
        arrays = {
            name: np.asarray(v, ITEMS.get(self._field(name).dtype)) for name, v in tensors.items() if v is not None
        }
        texts = {field.name: to_json(metadata[field.name]) for field in self._json}
        return arrays, {f.name: texts[f.name] for f in self._json if (f.default, texts[f.name]) != ("null", "null")}

    def version(self, tensors: Tensors) -> int:
        """Return the version of the format that knows these tensors; what it could say before 3 is said by 2."""
        return max(2, *(self._field(name).since for name in tensors))

    def parse_metadata(self, metadata: Metadata) -> dict[str, Any]:
        """Return what the metadata of a file stands for; the fields have yet to be checked."""
        required = {field.name for field in self._json if field.default is None}
        texts = {field.name: field.default for field in self._json if field.default is not None} | metadata
        if not required <= texts.keys() <= {field.name for field in self._json}:
            raise ValueError(f"its metadata must be {', '.join(sorted(required))}; got {', '.join(sorted(texts))}")
        return {name: parse_json(text, f"metadata {name!r}") for name, text in texts.items()}

    def check(self, estimator: str, task: str, forest: bool, tensors: Tensors, metadata: dict[str, Any]) -> Content:
        """Check everything that the lists say of a file; return it with the types that models have in memory."""
        if metadata["dtype"] not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(map(repr, DTYPES))}; got {metadata['dtype']!r}")
        content = Content(estimator, task, forest, metadata, dict(tensors), {})
        self._check_presence(content)
        self._measure(content)
        for name, array in tensors.items():
            content.tensors[name] = _in_memory(self._field(name), name, array, content)
        for field in self.tensors:
            if field.name in tensors:
                for check in field.checks:
                    check(field.name, content.tensors[field.name], content)
        for field in self._json:
            for check in field.checks:
                check(field.name, metadata[field.name], content)
        return content

    def _field(self, name: str) -> Field:
        """Return the field of a tensor; KeyError if there is none."""
        prefix = next((prefix for prefix in self._prefixes if name.startswith(prefix)), "")
        return self._prefixes[prefix] if prefix else self._by_name[name]

    def _check_presence(self, content: Content) -> None:
        """Check that all tensors are there which must be, and no others."""
        names = content.tensors.keys()
        may = [
            f for f in self.tensors if f.when.task in (None, content.task) and (content.forest or not f.when.forests)
        ]
        known, prefixes = {f.name for f in may}, tuple(self._prefixes)
        if unknown := [name for name in names if name not in known and not name.startswith(prefixes)]:
            raise ValueError(f"tensors are unknown for {content.estimator}: {', '.join(sorted(unknown))}")
        has = {self._field(name).when for name in names}
        missing = {f.name for f in may if (f.when in has or not f.when.optional) and "<" not in f.name} - names
        missing -= {"classes"} if _SEVERAL in names else set()
        missing |= {when.needs for when in has if when.needs is not None} - names
        if missing:
            raise ValueError(f"tensors are missing: {', '.join(sorted(missing))}")

    def _measure(self, content: Content) -> None:
        """Set the sizes of the dimensions: those of the first field that has them, required ones first."""
        sizes, classes = content.sizes, content.tensors.get("classes", np.empty(1))
        if "stage_end" not in content.tensors:
            sizes["stages"] = 1
        for field in sorted(self.tensors, key=lambda field: field.when.optional):
            if field.name in content.tensors and field.shape.isalpha():
                sizes.setdefault(field.shape, content.tensors[field.name].size)
        n_classes = len(classes) if classes.ndim else 0
        sizes["outputs"] = n_classes if n_classes > 2 else 1
        ends = content.tensors.get(_SEVERAL)
        if ends is not None and ends.ndim == 1 and len(ends) and 0 < ends[-1] < 2**24:
            sizes["outputs"] = int(ends[-1])
        sizes.setdefault("columns", sizes["features"])
        if sizes["trees"] < 1 or not 1 <= sizes["features"] < 2**31:
            raise ValueError("a model needs at least one tree and one feature")


def _in_memory(field: Field, name: str, array: npt.NDArray[Any], content: Content) -> npt.NDArray[Any]:
    """Check type and shape of a tensor, and return it in the type that models have."""
    if field.dtype == "any" or "<" in field.name:  # checked by themselves: as classes, or against a network
        return array
    dtypes = _dtypes(field, content.metadata["dtype"])
    if array.dtype not in dtypes:
        raise ValueError(f"tensor {name!r} must be {dtypes[0]}; got {array.dtype}")
    sizes = content.sizes | {"any": array.size}
    shape = tuple(_size(dimension, sizes) for dimension in field.shape.strip("()").split(", ") if dimension)
    if array.shape != shape:
        raise ValueError(f"tensor {name!r} must have the shape {shape}; got {array.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtypes[0], copy=False)


def _dtypes(field: Field, coefficient: str) -> list[np.dtype[Any]]:
    """Return the types that a field may have where coefficients are of this type."""
    own = {"coefficient": np.dtype(coefficient), "clip range": np.dtype(clip_range_dtype(coefficient))}
    names = field.dtype.split(", ")
    if coefficient == "int8" and names[0] == "coefficient":
        names = names[:1]  # whole numbers mean nothing without their units
    return [own[name] if name in own else ITEMS[name].newbyteorder("=") for name in names]


def _size(dimension: str, sizes: dict[str, int]) -> int:
    """Return the size of a dimension such as "trees", "trees + 1" or "⌈residuals / 8⌉"."""
    if dimension.startswith("⌈"):
        name, _, divisor = dimension.strip("⌈⌉").partition(" / ")
        return -(-sizes[name] // int(divisor))
    name, _, more = dimension.partition(" + ")
    return sizes[name] + int(more or 0)


_SAID = re.compile("coefficient|clip range")


def table(fields: Iterable[Field]) -> str:
    """Return fields as a table of ``docs/dev/format.md``, without columns that are empty."""
    head = ["name", "dtype", "shape", "when", "since", "what"]
    rows = [
        [f"`{f.name}`", _SAID.sub("as `dtype` says", f.dtype), f.shape, f.when.says, str(f.since), f.doc]
        for f in fields
    ]
    shown = [i for i in range(len(head)) if any(row[i] for row in rows)]
    lines = [" | ".join(row[i] for i in shown) for row in [head, *rows]]
    return "\n".join(f"| {line} |" for line in [lines[0], " | ".join("---" for _ in shown), *lines[1:]])
