"""A fitted tree or forest as C source: ``boostforest.h``, and tables for it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from .._base.typing import Array, Floats
from .._core import Link
from .._features.encoder import N_ORDERS, CategoryColumn, NumberColumn, TableColumn
from .._features.features import Features
from .._losses import CrossEntropy, RegressionLoss
from .._model.columns import ForestColumns
from .._model.model import Model

_LINKS = {
    Link.IDENTITY: "BF_IDENTITY",
    Link.LOG: "BF_LOG",
    Link.SIGMOID: "BF_SIGMOID",
    Link.SOFTMAX: "BF_SOFTMAX",
}
_TYPES = {"float64": "double", "float32": "float", "int32": "int32_t", "int64": "int64_t", "uint8": "uint8_t"}
_PER_LINE = 8
_KEYWORDS = """
    auto bool break case catch char class const continue default delete do double else enum explicit export extern float
    for friend goto if inline int long main namespace new operator private protected public register restrict return
    short signed sizeof static struct switch template this throw try typedef union unsigned using virtual void volatile
    while
"""  # that cannot be names in C or C++, as far as somebody might call a model so


def is_name(text: str) -> bool:
    """Tell whether a text can be the name of a variable."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text) is not None and text not in _KEYWORDS.split()


def header() -> str:
    """Return the text of ``boostforest.h``."""
    return files("boostforest").joinpath("include", "boostforest.h").read_text(encoding="utf-8")


def make_source(model: Model, name: str, dtype: str) -> str:
    """Return C source with a model's tables and what reads them."""
    check(model)
    return _Source(model, name, dtype).text()


class _Source:
    """The parts of a source file, written one after another."""

    def __init__(self, model: Model, name: str, dtype: str) -> None:
        self._name, self._parts = name, [_OPTIONS + header()]
        columns = model.columns if model.columns.dtype == np.float32 else model.columns.astype(dtype)
        forest = [
            *self._table(model.features, len(columns.seen_features)),
            *self._trees(columns),
            *self._results(model),
        ]
        forest += _NO_INTERVALS
        guard = f"{name.upper()}_H"
        self._parts.insert(1, f"#ifndef {guard}\n#define {guard}\n")
        self._parts.append(f"static const bf_forest {name} = {{\n    " + ",\n    ".join(forest) + "};\n")
        n_results = model.loss.n_classes or 1
        self._parts.append(
            _FUNCTION.format(name=name, NAME=name.upper(), n=model.features.n_columns, n_results=n_results)
        )
        self._parts.append("#endif\n")

    def text(self) -> str:
        """Return the whole source."""
        return "\n".join(self._parts)

    # ------------------------------------------------------------------------------------------------- one table each

    def _array(self, what: str, values: Array | None) -> str:
        """Write an array; return its name, or NULL for none."""
        if values is None or values.size == 0:
            return "NULL"
        name, flat = f"{self._name}_{what}", values.ravel()
        suffix = "f" if flat.dtype == np.float32 else ""
        cells = _cells(flat, suffix)
        lines = [", ".join(cells[i : i + _PER_LINE]) for i in range(0, len(cells), _PER_LINE)]
        type_ = _TYPES[flat.dtype.name]
        self._parts.append(f"static const {type_} {name}[] = {{\n    " + ",\n    ".join(lines) + "};\n")
        return name

    def _texts(self, what: str, texts: Sequence[str]) -> str:
        name = f"{self._name}_{what}"
        cells = ",\n    ".join(_quoted(text) for text in texts)
        self._parts.append(f"static const char *const {name}[] = {{\n    {cells}}};\n")
        return name

    # ------------------------------------------------------------------------------------------------------- the parts

    def _table(self, features: Features, n_seen: int) -> list[str]:
        names = [f"x{j}" for j in range(features.n_columns)] if features.names is None else features.names
        column_names = self._texts("columns", [str(name) for name in names])
        *columns, n_means = self._columns(features)
        return [
            str(features.n_columns),
            str(len(features.mean)),
            n_means,
            str(n_seen),
            column_names,
            *columns,
            self._array("mean", features.mean),
            self._array("scale", features.scale),
            self._array("fill", features.fill),
        ]

    def _columns(self, features: Features) -> list[str]:
        """Write what columns are that are not features as they are, and their levels."""
        if features.encoder is None:
            return ["NULL"] * 6 + ["0"]
        columns = [_Column.of(column) for column in features.encoder.columns]
        levels = [level for column in columns for level in column.levels]
        names = [level if isinstance(level, str) else str(level + 0) for level in levels]  # -0.0 is 0.0
        for j, column in enumerate(columns):
            if any("\0" in str(level) for level in column.levels):
                raise ValueError(f"Column {j} has a category with a character of code 0, which ends text in C.")
        means = [column.means for column in columns if column.means is not None]
        ordered = [column.kind == 7 for column in columns if column.means is not None]
        return [
            self._array("kinds", np.array([column.kind for column in columns], dtype=np.uint8)),
            self._array("level_start", np.cumsum([0, *(len(column.levels) for column in columns)])),
            self._array("level_missing", np.array([column.missing for column in columns], dtype=np.uint8)),
            self._array("level_is_text", np.array([column.is_text for column in columns], dtype=np.uint8)),
            self._texts("levels", names) if names else "NULL",
            self._array("level_means", np.concatenate([own.ravel() for own in means]) if means else None),
            str(means[0].shape[1] - N_ORDERS * ordered[0] if means else 0),
        ]

    def _trees(self, columns: ForestColumns) -> list[str]:
        if columns.tree_start[-1] >= 2**31:
            raise ValueError(f"to_c can write fewer than 2^31 nodes; got {columns.tree_start[-1]:,}.")
        is_clipped, is_sum = bool(columns.sum_path.any()), columns.sum_path[columns.tree_of_node]
        lower, upper = (columns.lower, columns.upper) if is_clipped else (None, None)
        is_single = columns.params.dtype != np.float64
        params = self._array("params", _at_least_single(columns.params))
        return [
            self._array("seen", columns.model_features),
            str(columns.n_trees),
            str(columns.n_outputs),
            str(int(columns.n_inputs.max(initial=0))),
            self._array("tree_start", columns.tree_start),
            self._array("n_inputs", columns.n_inputs.astype(np.int32)),
            self._array("hidden_start", columns.hidden_start if columns.hidden.size else None),
            self._array("hidden", columns.hidden),
            self._array("feature", columns.feature),
            self._array("left", columns.left),
            self._array("threshold", columns.threshold),
            self._array("missing_left", columns.missing_left),
            self._array("param_start", columns.param_start),
            self._array("lower", None if lower is None else np.where(is_sum, lower, -np.inf).astype(np.float64)),
            self._array("upper", None if upper is None else np.where(is_sum, upper, np.inf).astype(np.float64)),
            *(("NULL", params) if is_single else (params, "NULL")),
        ]

    def _results(self, model: Model) -> list[str]:
        loss, stages, calibration = model.loss, model.stages, model.calibration
        classes = "NULL"
        if isinstance(loss, CrossEntropy):
            classes = self._texts("classes", [str(label) for label in loss.classes])
        is_plain = len(stages) == 1 and stages.steps[0] == 1 and calibration.factor == 1 and not calibration.knots
        knots, start = calibration.knots, np.cumsum([0, *(len(x) for x, _ in calibration.knots)])
        return [
            "BF_EXP_OF_MEAN" if isinstance(loss, RegressionLoss) and loss.predicts_exponential else _LINKS[loss.link],
            str(loss.n_classes),
            str(len(stages)),
            str(int(is_plain)),
            classes,
            self._array("stage_end", np.array(stages.ends, dtype=np.int64)),
            self._array("stage_units", np.array(stages.counts, dtype=np.int64)),
            self._array("stage_step", np.array(stages.steps, dtype=np.float64)),
            self._array("knot_start", start if knots else None),
            self._array("knot_x", np.concatenate([x for x, _ in knots]) if knots else None),
            self._array("knot_y", np.concatenate([y for _, y in knots]) if knots else None),
            repr(float(calibration.factor)),
            repr(float(loss.origin)),
            repr(float(loss.unit)),
        ]


# Tables need neither files nor an allocator, and each source file that has some has the functions as well.
_OPTIONS = """\
#ifndef BOOSTFOREST_H
#define BOOSTFOREST_STATIC
#define BOOSTFOREST_NO_FILES
#define BOOSTFOREST_IMPLEMENTATION
#endif
"""
_NO_INTERVALS = ["0", "NULL", "NULL", "NULL", "NULL", "NULL"]

_FUNCTION = """\
#define {NAME}_N_COLUMNS {n}
#define {NAME}_N_RESULTS {n_results}

/* Predicts one row of {NAME}_N_COLUMNS values into {NAME}_N_RESULTS results; work: bf_work(&{name}, 1) doubles. */
static inline int {name}_predict(const double *row, double *result, double *work) {{
    return bf_predict(&{name}, row, {NAME}_N_COLUMNS, result, work);
}}
"""


@dataclass(frozen=True)
class _Column:
    """A column as the tables have it; ``kind`` is one of ``bf_column_kind``."""

    kind: int
    levels: Sequence[Any] = ()
    missing: bool = False
    is_text: bool = False
    means: Floats | None = None

    @classmethod
    def of(cls, column: TableColumn) -> "_Column":
        if isinstance(column, NumberColumn):
            return cls(int(column.indicator))
        assert isinstance(column, CategoryColumn)
        kind = 2 if column.means is None else 7 if column.ordered else 3
        return cls(kind, column.levels, column.missing, column.is_text and bool(column.levels), column.means)


def check(model: Model) -> None:
    """Refuse what tables cannot say."""
    if model.columns.in_python.any():
        raise ValueError("to_c cannot express node models in Python, such as networks and scikit-learn regressors.")
    if model.columns.monotonic_cst is not None:
        raise ValueError("to_c cannot express forests with monotonic_cst: fit without constraints.")
    model.features.check_plain("to_c")


def _at_least_single(values: Array) -> Array:
    return values.astype(np.float32) if values.dtype == np.float16 else values


def _cells(values: Array, suffix: str) -> list[str]:
    """Return numbers as C writes them: the shortest text that gives the same number."""
    if values.dtype.kind != "f":
        return [str(value) for value in values.tolist()]
    numbers: Iterable[Any] = values if suffix else values.tolist()
    special = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}
    return [special.get(text) or text + suffix for text in map(str, numbers)]


def _quoted(text: str) -> str:
    """Return a text in quotes; everything but letters, digits and common signs by the octal numbers of its bytes."""
    safe = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:;=()[]<>+/*%&|!#$@'")
    return '"' + "".join(chr(b) if b in safe else f"\\{b:03o}" for b in text.encode("utf-8", "surrogatepass")) + '"'
