"""A model and the parameters of its estimator as the fields of a file, and back.

What a file says is checked by ``schema``; here are the checks that take the whole model. The indices of the columns
are checked by the core.
"""

import inspect
import itertools
import math
import numbers
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np

from .._base.arrays import PerTree, TreeParams
from .._base.typing import Array, Bytes, Longs
from .._base.validation import classes_as_numbers
from .._features.calendar import CalendarColumn
from .._features.encoder import MAX_DIGITS, N_ORDERS, CategoryColumn, Level, NumberColumn, TableColumn, TableEncoder
from .._features.features import Features
from .._features.sparse import SparseColumns
from .._features.text import LeftOutColumn, TextColumn
from .._grow.parameters import TREE_PARAMETERS, check_criteria
from .._losses import (
    REGRESSION_LOSSES,
    ClassTargets,
    CrossEntropy,
    Logistic,
    Loss,
    OwnLoss,
    RegressionLoss,
    Several,
    Softmax,
    SquaredError,
    SquaredErrors,
)
from .._losses.several import classes_loss
from .._model.columns import ForestColumns, is_finite
from .._model.intervals import LeftOut
from .._model.local import LocalErrors
from .._model.model import Calibration, Known, Model, Stages
from .container import Metadata, Tensors
from .field import (
    CALENDAR,
    LEFT_OUT,
    MEANS,
    MEANS_AND_ORDERS,
    NUMBER,
    NUMBER_AND_INDICATOR,
    ONE_HOT,
    TEXT,
    Content,
    n_category_targets,
    strings,
)
from .networks import INDEX, PREFIX, decode_networks, encode_networks, from_text
from .plain import check_known, decode_params, decode_value, encode_params, encode_value
from .schema import FORMAT


class StoredEstimator(Protocol):
    """What a file has to know of an estimator; a forest has a ``_tree_class`` as well."""

    _task: ClassVar[str]
    _model: Model

    def __init__(self, **params: Any) -> None: ...

    def _check_arguments(self) -> None:
        """Check all parameters as a fit does."""


Estimators = Mapping[str, type[StoredEstimator]]

#: Parameters that came later, at their defaults: they are left out, so that files are as before where nobody uses them.
_LATER = {
    "loss": "squared_error",
    "quantile": 0.5,
    "power": 1.5,
    "distribution": "normal",
    "boost": None,
    "shared_hessian": None,
    "text": "drop",
    "interaction_cst": None,
    "device": "cpu",
}
_FIRST_PRESET = "paper"  # of forests in files from before there were presets; it goes with all defaults
_RUNS = "runs"  # of trees with the same value of a parameter: value, number of trees, value, …
_LONG_RUNS = 4  # trees: what their mean length is at least, to be written so
_SPARSE_PARTS = ("chosen", "coef", "intercept", "deviation")
_INTEGER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_MAX_TWINS = 100  # numbers of one hash: more make looking them up slow, and only a file that was made for it has them


# ------------------------------------------------------------------------------------------------------------- encoding


def encode(params: dict[str, Any], model: Model, dtype: str) -> tuple[Tensors, Metadata, list[str]]:
    """Return tensors and metadata of a fitted estimator, and the parameters that have no place in them."""
    if "int8" in (dtype, model.columns.dtype):
        model = replace(model, columns=_converted(model.columns, dtype))
    used = {name: v for name, v in params.items() if not (name in _LATER and _is_default(v, _LATER[name]))}
    stored, lost = encode_params(used)
    features, known, draws = model.features, model.known, model.draws
    classes, kind = classes_as_numbers(model.loss.classes) if isinstance(model.loss, CrossEntropy) else (None, None)
    tensors: dict[str, Any] = {
        **model.columns.arrays(),
        "tree_seeds": model.seeds,
        "feature_mean": features.mean,
        "feature_scale": features.scale,
        "feature_deviation": features.deviation,
        "fill": features.fill,
        "classes": classes,
        "oob_loss": known.losses,
        "conformity": known.conformity,
        "conformity_weight": known.conformity_weight,
    }
    if model.columns.loss is None:  # zeros take next to nothing
        tensors["loss"] = np.zeros(len(model.columns.feature), dtype=np.float32)
    if len(model.columns.hidden) == 0:
        tensors |= {"hidden_start": None, "hidden": None}
    if dtype != model.columns.dtype:
        tensors["params"] = _shorten(tensors["params"], dtype)
    if isinstance(model.loss, RegressionLoss):
        tensors |= {"target_mean": model.loss.origin, "target_scale": model.loss.unit}
    if isinstance(model.loss, SquaredErrors):
        tensors |= {"target_mean": 0.0, "target_scale": 1.0}
    if model.columns.in_python.any():
        tensors |= encode_networks(model.columns, model.params["node_model"], dtype)
    tensors |= _encode_columns(features.encoder) if features.encoder is not None else {}
    if features.sparse is not None:
        parts = {name: getattr(features.sparse, name).reshape(-1) for name in _SPARSE_PARTS}
        tensors |= {f"sparse_{name}": values for name, values in parts.items()}
    tensors |= _encode_stages(model.stages, model.calibration)
    if known.left_out is not None:
        tensors["residuals"], tensors["residual_weight"] = known.left_out.residuals, known.left_out.weight
        tensors["absent"] = known.left_out.bits[known.left_out.seed_of_tree]
        if known.left_out.local is not None:
            tensors |= _encode_local(known.left_out.local, model.columns)
    metadata = {
        "params": stored,
        "not_stored": lost,
        "n_features": features.n_columns,
        "feature_names": None if features.names is None else [str(name) for name in features.names],
        "classes": kind,
        "tree_params": {name: _encode_drawn(values) for name, values in model.params.items()},
        # In base 16: there is no limit on digits.
        "entropy": [hex(w) for w in model.entropy] if isinstance(model.entropy, tuple) else hex(model.entropy),
        "draws": None if draws is None else [*draws[:3], draws[3].hex()],
        "target": known.target.hex() if known.target is not None and draws is not None and draws[0] else None,
        "oob_score": _encode_score(known.score),
        "dtype": model.columns.dtype.name,
        "loss": _encode_loss(model.loss),
    }
    return *FORMAT.write(tensors, metadata), lost


def _converted(columns: ForestColumns, dtype: str) -> ForestColumns:
    """Return the trees with parameters of eight bits, or those as floats; or say why that cannot be."""
    short = columns.astype(dtype)
    if not is_finite(short, columns):
        raise ValueError(
            f"dtype={dtype!r} holds clip ranges up to {np.finfo(np.float16).max:g} and finite coefficients, and the "
            "model has larger ones: use a larger dtype"
        )
    return short


def _shorten(params: Array, dtype: str) -> Array:
    """Return the coefficients in another type, or say that one does not fit."""
    with np.errstate(over="ignore"):
        short = params.astype(dtype, copy=False)
    too_large = np.isinf(short) & np.isfinite(params)
    if too_large.any():
        raise ValueError(
            f"dtype={dtype!r} holds numbers up to {np.finfo(dtype).max:g}, but a coefficient is "
            f"{params[too_large][0]:g}: use a larger dtype"
        )
    return short


def _encode_columns(encoder: TableEncoder) -> dict[str, Any]:
    """Return how columns become features."""
    categories = [column if isinstance(column, CategoryColumn) else None for column in encoder.columns]
    some = [column for column in categories if column is not None]
    texts = [str(level).encode("utf-8", "surrogatepass") for column in some for level in column.levels]
    dates = [column if isinstance(column, CalendarColumn) else None for column in encoder.columns]
    return {
        "column_kind": [_kind(column) for column in encoder.columns],
        "calendar_parts": [0 if c is None else c.parts for c in dates] if any(dates) else None,
        "calendar_origin": [0.0 if c is None else c.origin for c in dates] if any(dates) else None,
        "level_start": np.cumsum([0, *(0 if c is None else len(c.levels) for c in categories)]),
        "level_missing": [c is not None and c.missing for c in categories],
        "level_is_text": [c is not None and c.is_text for c in categories],
        "level_end": np.cumsum([len(text) for text in texts]),
        "level_text": np.frombuffer(b"".join(texts), dtype=np.uint8),
        "level_means": np.concatenate([np.empty(0), *(c.means.reshape(-1) for c in some if c.means is not None)]),
        "class_basis": None if encoder.basis is None else encoder.basis.reshape(-1),
    }


def _kind(column: TableColumn) -> int:
    if isinstance(column, NumberColumn):
        return NUMBER_AND_INDICATOR if column.indicator else NUMBER
    if not isinstance(column, CategoryColumn):
        return CALENDAR if isinstance(column, CalendarColumn) else TEXT if isinstance(column, TextColumn) else LEFT_OUT
    if column.means is None:
        return ONE_HOT
    return MEANS_AND_ORDERS if column.ordered else MEANS


def _encode_stages(stages: Stages, calibration: Calibration) -> dict[str, Any]:
    """Return how the trees of a forest make a prediction, where it is not their mean."""
    tensors: dict[str, Any] = {}
    if len(stages) > 1 or stages.steps[0] != 1:
        has_units = stages.units or stages.steps[0] != 1 or max(stages.steps) > 1  # readers want units for such steps
        units = stages.counts if has_units else None
        tensors |= {"stage_end": stages.ends, "stage_step": stages.steps, "stage_units": units}
    if calibration.factor != 1.0:
        tensors["calibration_factor"] = calibration.factor
    if calibration.knots:
        tensors["knot_start"] = np.cumsum([0, *(len(x) for x, _ in calibration.knots)])
        tensors["knot_x"], tensors["knot_y"] = map(np.concatenate, zip(*calibration.knots, strict=True))
    return tensors


def _encode_local(local: LocalErrors, columns: ForestColumns) -> dict[str, Any]:
    """Return the signs of out-of-bag errors, and the leaves of their rows, which are numbered without other nodes."""
    start = columns.tree_start[local.trees, None]
    before = np.append(0, np.cumsum(columns.feature < 0))
    numbers = before[start + local.leaves.T] - before[start]
    short = np.uint8 if numbers.max() < 2**8 else np.uint16 if numbers.max() < 2**16 else np.int32
    return {
        "residual_negative": np.packbits(np.signbit(local.residuals)),
        "leaf_tree": local.trees,
        "residual_leaf": numbers.astype(short),
    }


def _encode_drawn(values: PerTree) -> Any:
    """Return one parameter of all trees: one value if it is the same everywhere (1 and 1.0 are not), or runs of it."""
    own = PerTree.of(values)
    plain = [encode_value(v) for v in own.values]
    shown = [repr(v) for v in plain]  # as JSON tells them apart, and faster
    which = np.array([shown.index(text) for text in shown])[own.places]
    first = [0, *(1 + np.flatnonzero(np.diff(which)))]
    if len(first) == 1:
        return [plain[which[0]]]
    if len(first) > len(which) // _LONG_RUNS:
        return [plain[i] for i in which]
    lengths = np.diff([*first, len(which)]).tolist()
    return {_RUNS: [entry for at, n in zip(first, lengths, strict=True) for entry in (plain[which[at]], n)]}


def version(tensors: Tensors, metadata: Metadata) -> int:
    """Return the version of the format that knows these columns and this metadata, from 2 on."""
    if MEANS_AND_ORDERS in tensors.get("column_kind", ()):
        return 7
    return 4 if "target" in metadata or f'{{"{_RUNS}":' in metadata["tree_params"] else 2


def _encode_loss(loss: Loss) -> dict[str, Any] | None:
    """Return the loss of a regressor or of several targets; others are told by other fields."""
    if isinstance(loss, SquaredErrors):
        return {loss.name: {"mean": loss.origin.tolist(), "scale": loss.unit.tolist()}}
    if isinstance(loss, ClassTargets):
        return {loss.name: [{_kind_of_labels(part.classes): part.classes.tolist()} for part in loss.parts]}
    if isinstance(loss, SquaredError) or not isinstance(loss, RegressionLoss):
        return None
    return {loss.name: {name: float(getattr(loss, name)) for name in loss.number_names()}}


def _kind_of_labels(classes: Array) -> str:
    return "str" if classes.dtype.kind == "U" else str(classes.dtype)


def _encode_score(score: Any) -> float | None:
    return float(score) if isinstance(score, numbers.Real) and math.isfinite(score) else None


# ------------------------------------------------------------------------------------------------------------- decoding


def decode(
    name: str, estimators: Estimators, tensors: Tensors, metadata: Metadata, own_module: Any = None
) -> StoredEstimator:
    """Return the estimator that tensors and metadata stand for, or raise ValueError.

    ``own_module`` is what networks are made of where the file cannot say it.
    """
    if name not in estimators:
        raise ValueError(f"it holds the unknown estimator {name!r}; known are {', '.join(estimators)}")
    cls = estimators[name]
    defaults = _defaults(cls)
    parsed = FORMAT.parse_metadata(metadata)
    params = decode_params(parsed["params"], parsed["not_stored"], list(defaults))
    if "node_model" in params:
        params["node_model"] = _with_networks(params["node_model"], own_module)
    if "preset" in defaults:
        params.setdefault("preset", _FIRST_PRESET)
    estimator = cls(**params)
    if not all(_is_usual(key, value, defaults[key]) for key, value in params.items()):
        estimator._check_arguments()
    is_forest = hasattr(cls, "_tree_class")
    content = FORMAT.check(name, cls._task, is_forest, tensors, parsed)
    if not is_forest and content.sizes["trees"] != 1:
        raise ValueError(f"a {name} has one tree; got {content.sizes['trees']}")
    drawn = _decode_drawn(content, defaults, _defaults(getattr(cls, "_tree_class", cls)), own_module)
    estimator._model = _decode_model(content, drawn)
    return estimator


@cache
def _defaults(cls: type) -> dict[str, Any]:
    """Return the defaults of the constructor, without a call of it."""
    return {parameter.name: parameter.default for parameter in inspect.signature(cls).parameters.values()}


def _is_default(value: Any, default: Any) -> bool:
    """Tell whether a value is the default, or one of those in a default pool: they need no check."""
    pool = (default, *default) if isinstance(default, tuple) else (default,)
    return any(type(value) is type(own) and value == own for own in pool)


def _is_usual(name: str, value: Any, default: Any) -> bool:
    """Tell whether a parameter needs no check: it is a default, a number of trees, or a seed, which only fits read."""
    is_count = name == "n_estimators" and type(value) is int and value > 0
    is_first = name == "preset" and value == _FIRST_PRESET
    return is_count or is_first or name == "random_state" or _is_default(value, default)


def _with_networks(value: Any, own_module: Any) -> Any:
    """Return node models with a ``TorchNode`` in the place of its text, one object for all places of a text."""
    values = value if isinstance(value, list | tuple) else [value]
    texts = dict.fromkeys(v for v in values if isinstance(v, str) and v.startswith(PREFIX))
    if not texts:
        return value
    made = {text: from_text(text, own_module) for text in texts}
    decoded = [made.get(v, v) if isinstance(v, str) else v for v in values]
    return type(value)(decoded) if isinstance(value, list | tuple) else decoded[0]


def _decode_drawn(content: Content, own: dict[str, Any], of_tree: dict[str, Any], own_module: Any) -> TreeParams:
    """Return what the trees have drawn; ``own`` are the defaults of the estimator, ``of_tree`` those of one tree."""
    drawn, n_trees = content.metadata["tree_params"], content.sizes["trees"]
    check_known("a tree", drawn, [p.name for p in TREE_PARAMETERS])
    params: TreeParams = {}
    for parameter in TREE_PARAMETERS:
        name = parameter.name
        # What a tree has that was grown before there was this parameter: the default of one tree, not a pool.
        values = _unrolled(name, drawn.get(name, [of_tree.get(name, False)]), n_trees)
        if not isinstance(values, list) or len(values) not in (1, n_trees):
            raise ValueError(f"tree_params: {name} must have one value, or one per tree")
        values = [decode_value(v) for v in values]
        if name == "node_model":
            values = _with_networks(values, own_module)
        others = [v for v in values if name in drawn and not _is_default(v, own.get(name, False))]
        for value in others:
            parameter.check(value)
        if name == "criterion" and others:
            check_criteria(others, content.task)
        params[name] = PerTree.of(values) if len(values) == n_trees else PerTree.same(values[0], n_trees)
    return params


def _unrolled(name: str, values: Any, n_trees: int) -> Any:
    """Return one parameter with a value per tree, where it is written as runs."""
    if not isinstance(values, dict):
        return values
    runs = values.get(_RUNS) if len(values) == 1 else None
    runs = runs if isinstance(runs, list) else []
    lengths = runs[1::2]
    are_lengths = all(type(n) is int and 0 < n <= n_trees for n in lengths)
    if not are_lengths or len(runs) % 2 or sum(lengths) != n_trees:
        raise ValueError(f"tree_params: the runs of {name} must have {n_trees} trees together")
    return [value for value, n in zip(runs[::2], lengths, strict=True) for _ in range(n)]


def _decode_model(content: Content, drawn: TreeParams) -> Model:
    t, metadata, n_trees = content.tensors, content.metadata, content.sizes["trees"]
    loss = _decode_loss(content)
    columns = _decode_forest(content)
    networks = {name: t[name] for name in t if name.partition(".")[0] == INDEX}
    if networks or columns.in_python.any():
        columns = replace(columns, models=decode_networks(columns, drawn["node_model"], networks))
    names = metadata["feature_names"]
    features = Features(
        metadata["n_features"],
        None if names is None else np.array(names, dtype=object),
        _decode_columns(content) if "column_kind" in t else None,
        t["feature_mean"],
        t["feature_scale"],
        t["feature_deviation"],
        t.get("fill"),
        _decode_sparse(t) if "sparse_chosen" in t else None,
    )
    ends, steps = t.get("stage_end", np.array([n_trees])), t.get("stage_step", np.ones(1))
    counts = np.diff(ends, prepend=0)
    units = t.get("stage_units", counts)
    no_units = np.array_equal(units, counts)  # they say what is so without them
    stages = Stages(tuple(ends.tolist()), tuple(steps.tolist()), () if no_units else tuple(units.tolist()))
    knots = []
    if "knot_start" in t:
        knots = [(t["knot_x"][a:b], t["knot_y"][a:b]) for a, b in itertools.pairwise(t["knot_start"])]
    left_out = None
    if "absent" in t:
        left_out = LeftOut.of_trees(t["residuals"], t["absent"], t["tree_seeds"], t.get("residual_weight"))
        if not np.array_equal(left_out.bits[left_out.seed_of_tree], t["absent"]):
            raise ValueError("tensor 'absent' must be the same for all trees of a seed")
        left_out.local = _decode_local(t, columns) if "residual_leaf" in t else None
    entropy, draws = metadata["entropy"], metadata["draws"]
    return Model(
        features,
        loss,
        columns,
        t["tree_seeds"],
        drawn,
        tuple(int(word, 16) for word in entropy) if isinstance(entropy, list) else int(entropy, 16),
        stages,
        Calibration(float(t.get("calibration_factor", 1.0)), tuple(knots)),
        None if draws is None else (*draws[:3], bytes.fromhex(draws[3])),
        Known(
            score=metadata["oob_score"],
            target=None if metadata["target"] is None else bytes.fromhex(metadata["target"]),
            losses=t.get("oob_loss"),
            left_out=left_out,
            conformity=t.get("conformity"),
            conformity_weight=t.get("conformity_weight"),
        ),
    )


def _decode_loss(content: Content) -> Loss:
    t = content.tensors
    if "target_end" in t:
        return _decode_several(content)
    if content.task == "regression":
        name, numbers = next(iter((content.metadata["loss"] or {SquaredError.name: {}}).items()))
        known_losses = REGRESSION_LOSSES | {OwnLoss.name: OwnLoss}
        if name not in known_losses:
            known = ", ".join(map(repr, REGRESSION_LOSSES))
            raise ValueError(f"it has the unknown loss {name!r}; known are {known} (a newer version may know it)")
        cls = known_losses[name]
        if not isinstance(numbers, dict) or sorted(numbers) != sorted(cls.number_names()):
            raise ValueError(f"the loss {name!r} keeps the numbers {cls.number_names()}; got {numbers!r}")
        if not all(type(number) is float and number > 0 for number in numbers.values()):
            raise ValueError(f"the numbers of the loss {name!r} must be floats above 0; got {numbers!r}")
        return cls(float(t["target_mean"]), float(t["target_scale"]), **numbers)
    kind, classes = content.metadata["classes"], t["classes"]
    classes = classes if kind == "number" else strings(classes)
    classes = classes.astype(object) if kind == "object" else classes
    return Logistic(classes) if len(classes) <= 2 else Softmax(classes)


def _decode_several(content: Content) -> Loss:
    name, told = next(iter((content.metadata["loss"] or {"": None}).items()))
    loss: Several[Any]
    if content.task == "regression" and name == SquaredErrors.name:
        means, scales = (told.get(key) if isinstance(told, dict) else None for key in ("mean", "scale"))
        if not isinstance(means, list) or not isinstance(scales, list) or not len(means) == len(scales) > 0:
            raise ValueError("several targets need a list of their means, and of as many scales")
        if not all(type(x) is float and math.isfinite(x) for x in (*means, *scales)) or min(scales) <= 0:
            raise ValueError("several targets need finite means, and scales above 0")
        loss = SquaredErrors(tuple(SquaredError(mean, scale) for mean, scale in zip(means, scales, strict=True)))
    elif content.task == "classification" and name == ClassTargets.name and isinstance(told, list) and told:
        loss = ClassTargets(tuple(classes_loss(_decode_labels(labels)) for labels in told))
    else:
        raise ValueError(f"it has several targets, and the loss {name!r} is not of such")
    if not np.array_equal(loss.target_end, content.tensors["target_end"]):
        raise ValueError("target_end does not fit the targets")
    return loss


def _decode_labels(told: Any) -> Array:
    """Return the labels of one of several targets, ascending."""
    kind, labels = next(iter(told.items())) if isinstance(told, dict) and len(told) == 1 else ("", None)
    types = {"str": str, "object": str, "bool": bool, "float64": float, "float32": float, "float16": float}
    of_type = types.get(kind, int if re.fullmatch(r"u?int(8|16|32|64)", kind) else None)
    if of_type is None or not isinstance(labels, list) or not labels or any(type(x) is not of_type for x in labels):
        raise ValueError("a target of several needs labels: numbers, booleans or strings of one type")
    try:
        classes = np.array(labels, dtype=None if kind == "str" else kind)
    except OverflowError as error:
        raise ValueError(f"a label does not fit into {kind}") from error
    if classes.tolist() != labels or any(not a < b for a, b in itertools.pairwise(labels)):
        raise ValueError("the labels of a target must ascend")
    return classes


def _decode_forest(content: Content) -> ForestColumns:
    t, sizes = content.tensors, content.sizes
    columns: dict[str, Any] = {f.name: t[f.name] for f in fields(ForestColumns) if f.name in t}
    columns.setdefault("hidden_start", np.zeros(sizes["trees"] + 1, dtype=np.int64))
    columns.setdefault("hidden", np.empty(0))
    if not columns["loss"].any():
        columns["loss"] = None
    forest = ForestColumns(**columns, n_features=sizes["features"], n_outputs=sizes["outputs"])
    forest.model  # noqa: B018 - the core checks all indices when it makes its view
    inner = np.flatnonzero(forest.feature >= 0)
    left = forest.left[inner] + forest.tree_start[forest.tree_of_node[inner]]
    parents = np.bincount(np.concatenate([left, left + 1, forest.tree_start[:-1]]), minlength=len(forest.feature))
    if (parents != 1).any():
        raise ValueError("damaged model: every node but the roots needs one parent")
    if "param_start" in t and not np.array_equal(t["param_start"], forest.param_start):
        raise ValueError("damaged model: param_start is not where the parameters of the nodes are")
    return forest


def _decode_local(t: Tensors, columns: ForestColumns) -> LocalErrors:
    size, numbers, trees = t["residuals"], t["residual_leaf"], t["leaf_tree"]
    start, end = columns.tree_start[trees, None], columns.tree_start[trees + 1, None]
    before = np.append(0, np.cumsum(columns.feature < 0))
    if (numbers < 0).any() or (numbers >= before[end] - before[start]).any():
        raise ValueError("tensor 'residual_leaf' has leaves that the trees do not have")
    leaves = np.flatnonzero(columns.feature < 0)[before[start] + numbers] - start
    negative = np.unpackbits(t["residual_negative"], count=len(size)).astype(np.bool_)
    rows_first = np.ascontiguousarray(leaves.T, dtype=np.int32)
    return LocalErrors.of(np.where(negative, -size, size), rows_first, trees, t.get("residual_weight"))


def _decode_columns(content: Content) -> TableEncoder:
    t, n_targets = content.tensors, n_category_targets(content)
    basis = t["class_basis"].reshape(-1, n_targets).copy() if "class_basis" in t else None
    levels = _decode_texts(t["level_text"], t["level_end"])
    start, at = t["level_start"].tolist(), 0
    columns: list[TableColumn] = []
    flags = zip(t["column_kind"].tolist(), t["level_is_text"].tolist(), t["level_missing"].tolist(), strict=True)
    for j, (kind, is_text, missing) in enumerate(flags):
        if kind < ONE_HOT:
            columns.append(NumberColumn(kind == NUMBER_AND_INDICATOR))
            continue
        if kind == CALENDAR:
            columns.append(CalendarColumn(float(t["calendar_origin"][j]), int(t["calendar_parts"][j])))
            continue
        if kind in (TEXT, LEFT_OUT):
            columns.append(TextColumn() if kind == TEXT else LeftOutColumn())
            continue
        own, means = _decode_levels(levels[start[j] : start[j + 1]], is_text), None
        if kind in (MEANS, MEANS_AND_ORDERS):
            width = n_targets + (N_ORDERS if kind == MEANS_AND_ORDERS else 0)
            end = at + (len(own) + missing) * width
            means, at = t["level_means"][at:end].reshape(-1, width).copy(), end
        columns.append(CategoryColumn(own, missing, means, kind == MEANS_AND_ORDERS))
    return TableEncoder(tuple(columns), basis)


def _decode_sparse(t: Tensors) -> SparseColumns:
    parts = {name: t[f"sparse_{name}"] for name in _SPARSE_PARTS}
    return SparseColumns(**parts | {"coef": parts["coef"].reshape(len(parts["deviation"]), -1)})


def _decode_texts(text: Bytes, end: Longs) -> list[str]:
    content = text.tobytes()
    bounds = [0, *end.tolist()]
    try:
        return [content[begin:end].decode("utf-8", "surrogatepass") for begin, end in itertools.pairwise(bounds)]
    except UnicodeDecodeError as error:
        raise ValueError("tensor 'level_text' is not UTF-8") from error


def _decode_levels(texts: list[str], is_text: bool) -> tuple[Level, ...]:
    """Return levels in their type, in ascending order and each once."""
    levels: list[Any] = texts if is_text else [_decode_number(text) for text in texts]
    if any(not a < b for a, b in itertools.pairwise(levels)):
        raise ValueError("the levels of a category must ascend")
    if not is_text and np.unique([hash(level) for level in levels], return_counts=True)[1].max(initial=0) > _MAX_TWINS:
        raise ValueError("too many levels of a category have the same hash")
    return tuple(levels)


def _decode_number(text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"the level {text[:20]!r} is not a number")
    return value
