"""A fitted estimator as tensors and metadata, and back.

Whatever a file says is checked here before an estimator is made of it; see ``docs/format.md`` for what it holds. The
columns' indices are checked by the core.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from .._base.typing import Entropy, Labels, TreeParams
from .._base.validation import classes_as_numbers
from .._features.features import Features
from .._grow.parameters import TREE_PARAMETERS, check_criteria
from .._losses import CrossEntropy, Logistic, Loss, Softmax, SquaredError
from .._model.columns import COEFFICIENTS, DTYPES, ForestColumns
from .._model.model import Model, Stages
from .container import Metadata, Tensors, parse_json, to_json
from .encoder import checked_fill, encode_encoder, take_encoder
from .networks import decode_networks, encode_networks, from_text, is_text, take_networks
from .plain import check_known, decode_params, decode_value, encode_params, encode_value
from .stages import STAGE_TENSORS, encode_stages, take_stages


class StoredEstimator(Protocol):
    """What a file has to know of an estimator."""

    _task: ClassVar[str]
    _model: Model

    def __init__(self, **params: Any) -> None: ...

    @classmethod
    def _get_param_names(cls) -> list[str]: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    @classmethod
    def _tree_defaults(cls) -> dict[str, Any] | None:
        """Return the defaults of a forest's trees; None: it is a tree."""

    def _check_arguments(self) -> None:
        """Check all parameters as a fit does; those that only a fit reads have time until then."""


Estimators = Mapping[str, type[StoredEstimator]]

# Tensor -> type and length. Lengths of the same name are the same; "one" has no dimension.
_COLUMNS = {
    "tree_start": (np.int64, "starts"),
    "kind": (np.uint8, "trees"),
    "sum_path": (np.bool_, "trees"),
    "feature": (np.int32, "nodes"),
    "threshold": (np.float64, "nodes"),
    "missing_left": (np.uint8, "nodes"),
    "left": (np.int32, "nodes"),
    "n_samples": (np.float32, "nodes"),
    "loss": (np.float32, "nodes"),
    "gain": (np.float32, "nodes"),
    "lower": (np.float64, "nodes"),
    "upper": (np.float64, "nodes"),
    "params": (np.float64, "params"),
}
_ANY_FLOAT = ("n_samples", "loss", "gain", "params")  # may have other types in files
_IMPLIED = {"param_start": (np.int64, "nodes")}  # older files have it: where the parameters of each node start
_HIDDEN = {"hidden_start": (np.int64, "starts"), "hidden": (np.float64, "hidden")}  # only if a tree has a hidden layer
# What features are for; each only where it is not the same for all of them.
_ROLES = {
    "split_features": (np.int32, "split features"),
    "model_features": (np.int32, "model features"),
    "monotonic_cst": (np.int8, "features"),
}
_SCALING = dict.fromkeys(("feature_mean", "feature_scale", "feature_deviation"), (np.float64, "features"))
_SEEDS = {"tree_seeds": (np.uint64, "trees")}
_TARGET = {"target_mean": (np.float64, "one"), "target_scale": (np.float64, "one")}

_FINITE = ("threshold", "params", "hidden", "n_samples", *_SCALING, *_TARGET)
_POSITIVE = ("feature_scale", "feature_deviation", "target_scale")

METADATA = {
    "params", "not_stored", "n_features", "feature_names", "classes", "tree_params", "entropy", "draws", "oob_score",
}  # fmt: skip
_DEFAULTS = {"dtype": '"float64"'}  # metadata that older files have not


# ------------------------------------------------------------------------------------------------------------- encoding


def encode(params: dict[str, Any], model: Model, dtype: str) -> tuple[Tensors, Metadata, list[str]]:
    """Return tensors and metadata of a fitted estimator, and the parameters that have no place in them."""
    stored, lost = encode_params(params)
    features, loss, known, draws = model.features, model.loss, model.known, model.draws
    tensors: Tensors = model.columns.arrays()
    if len(tensors["hidden"]) == 0:
        tensors = {name: tensor for name, tensor in tensors.items() if name not in _HIDDEN}
    tensors["params"] = _shorten(tensors["params"], dtype)
    tensors |= encode_networks(model.columns, model.params["node_model"], dtype)
    tensors["tree_seeds"] = model.seeds
    tensors |= encode_encoder(features.encoder)
    if features.fill is not None:
        tensors["fill"] = features.fill
    tensors |= encode_stages(model)
    scaling = features.mean, features.scale, features.deviation
    tensors |= dict(zip(_SCALING, scaling, strict=True))
    kind = None
    if isinstance(loss, CrossEntropy):
        tensors["classes"], kind = classes_as_numbers(loss.classes)
    else:
        tensors |= {"target_mean": np.array(loss.origin), "target_scale": np.array(loss.unit)}
    metadata = {
        "params": stored,
        "not_stored": lost,
        "n_features": features.n_columns,
        "feature_names": None if features.names is None else [str(name) for name in features.names],
        "classes": kind,
        "tree_params": {name: _encode_draws(values) for name, values in model.params.items()},
        "entropy": _encode_entropy(model.entropy),
        "draws": None if draws is None else [*draws[:3], draws[3].hex()],
        "oob_score": _encode_score(known.score),
        "dtype": model.columns.dtype.name,
    }
    return tensors, {name: to_json(value) for name, value in metadata.items()}, lost


def _shorten(params: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
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


def _encode_draws(values: list[Any]) -> list[Any]:
    """Return one parameter of all trees: one value if it is the same everywhere (1 and 1.0 are not)."""
    same = all(v is values[0] for v in values)  # most often, and much faster than a look at each
    plain = [encode_value(v) for v in (values[:1] if same else values)]
    return plain[:1] if len({to_json(v) for v in plain}) == 1 else plain


def _encode_entropy(entropy: Any) -> Any:
    # In base 16: there is no limit on digits.
    return [hex(word) for word in entropy] if isinstance(entropy, tuple) else hex(entropy)


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
    metadata = _DEFAULTS | metadata
    if metadata.keys() != METADATA | _DEFAULTS.keys():
        raise ValueError(f"its metadata must be {', '.join(sorted(METADATA))}; got {', '.join(sorted(metadata))}")
    cls = estimators[name]
    fields = {key: parse_json(text, f"metadata {key!r}") for key, text in metadata.items()}
    params = decode_params(fields["params"], fields["not_stored"], cls._get_param_names())
    if "node_model" in params:
        params["node_model"] = _decode_node_models(params["node_model"], own_module)
    estimator = cls(**params)
    estimator._check_arguments()
    estimator._model = _decode_model(name, cls, dict(tensors), fields, own_module)
    return estimator


def _decode_model(
    name: str, cls: type[StoredEstimator], tensors: Tensors, fields: dict[str, Any], own_module: Any
) -> Model:
    networks = take_networks(tensors)
    classes = None
    if cls._task == "classification":
        classes = _decode_classes(tensors.pop("classes", None), fields["classes"])
    elif fields["classes"] is not None:
        raise ValueError("a regressor has no classes")
    n_classes = 1 if classes is None else len(classes)
    encoder = take_encoder(tensors, n_targets=1 if n_classes == 2 else n_classes)
    fill = tensors.pop("fill", None)
    tree_defaults = cls._tree_defaults()
    staged = {name: tensors.pop(name) for name in STAGE_TENSORS if tree_defaults is not None and name in tensors}
    if fields["dtype"] not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(map(repr, DTYPES))}; got {fields['dtype']!r}")
    tensors = _checked(tensors, cls._task, np.dtype(fields["dtype"]))
    loss = _decode_loss(tensors, classes)
    columns = _decode_columns(tensors, loss.n_outputs)
    fill = checked_fill(fill, columns.n_features)
    if tree_defaults is None and columns.n_trees != 1:
        raise ValueError(f"a {name} has one tree; got {columns.n_trees}")
    if encoder is not None and encoder.n_features != columns.n_features:
        raise ValueError(f"the columns make {encoder.n_features} features, but the trees have {columns.n_features}")
    n_columns = columns.n_features if encoder is None else len(encoder.columns)
    names = _decode_names(fields["n_features"], fields["feature_names"], n_columns)
    mean, scale, deviation = (tensors[key] for key in _SCALING)
    features = Features(n_columns, names, encoder, mean, scale, deviation, fill)
    defaults = cls().get_params(deep=False) if tree_defaults is None else tree_defaults
    drawn = _decode_tree_params(fields["tree_params"], columns.n_trees, cls._task, defaults, own_module)
    columns = replace(columns, models=decode_networks(columns, drawn["node_model"], networks))
    entropy = _decode_entropy(fields["entropy"])
    if tree_defaults is None:
        return Model(features, loss, columns, tensors["tree_seeds"], drawn, entropy, Stages.single(1))
    stages, calibration, known = take_stages(staged, columns.n_trees, columns.n_outputs, cls._task)
    return Model(
        features,
        loss,
        columns,
        tensors["tree_seeds"],
        drawn,
        entropy,
        stages,
        calibration,
        _decode_row_draws(fields["draws"]),
        replace(known, score=_decode_score(fields["oob_score"])),
    )


def _decode_loss(tensors: Tensors, classes: Labels | None) -> Loss:
    if classes is None:
        return SquaredError(float(tensors["target_mean"]), float(tensors["target_scale"]))
    return Logistic(classes) if len(classes) <= 2 else Softmax(classes)


def _checked(tensors: Tensors, task: str, coefficient: np.dtype[Any]) -> Tensors:
    """Check names, types, lengths and numbers of all tensors but the classes; return them as the estimator has them."""
    expected: dict[str, tuple[Any, str]] = _COLUMNS | _SCALING | _SEEDS | (_TARGET if task == "regression" else {})
    expected |= {name: (coefficient, expected[name][1]) for name in COEFFICIENTS}
    expected |= _HIDDEN if tensors.keys() & _HIDDEN.keys() else {}
    expected |= {name: entry for name, entry in (_ROLES | _IMPLIED).items() if name in tensors}
    if tensors.keys() != expected.keys():
        wrong = ", ".join(sorted(tensors.keys() ^ expected.keys()))
        raise ValueError(f"tensors are missing or unknown: {wrong}")
    lengths: dict[str, int] = {}
    for name, (dtype, length) in expected.items():
        array = tensors[name]
        any_float = name in _ANY_FLOAT and array.dtype.kind == "f"
        if array.dtype != dtype and not any_float:
            raise ValueError(f"tensor {name!r} must be {np.dtype(dtype)}; got {array.dtype}")
        shape = () if length == "one" else (lengths.setdefault(length, array.size),)
        if array.shape != shape:
            raise ValueError(f"tensor {name!r} must have the shape {shape}; got {array.shape}")
    if lengths["trees"] < 1 or not 1 <= lengths["features"] < 2**31:
        raise ValueError("a model needs at least one tree and one feature")
    with np.errstate(over="ignore", invalid="ignore"):
        tensors |= {name: tensors[name].astype(expected[name][0], copy=False) for name in _ANY_FLOAT}
    _check_numbers(tensors)
    return tensors


def _check_numbers(tensors: Tensors) -> None:
    for name in _FINITE:
        if name in tensors and not np.isfinite(tensors[name]).all():
            raise ValueError(f"tensor {name!r} has values that are not finite")
    for name in _POSITIVE:
        if name in tensors and not (tensors[name] > 0).all():
            raise ValueError(f"tensor {name!r} has values that are not above zero")
    if (tensors["missing_left"] > 1).any():
        raise ValueError("tensor 'missing_left' has values other than 0 and 1")
    if not (tensors["lower"] <= tensors["upper"]).all():
        raise ValueError("a clip range in 'lower' and 'upper' is empty")
    may_cut = tensors.get("split_features", np.zeros(1, dtype=np.int32))
    ascends = len(may_cut) > 0 and bool((may_cut[:-1] < may_cut[1:]).all())
    if not ascends or may_cut[0] < 0 or may_cut[-1] >= len(tensors["feature_mean"]):
        raise ValueError("tensor 'split_features' must hold numbers of features, ascending")
    n_samples = tensors["n_samples"]
    with np.errstate(over="ignore"):
        total = n_samples[tensors["feature"] < 0].sum(dtype=np.float64)
    if (n_samples < 0).any() or not 0 < total < np.inf:
        raise ValueError("tensor 'n_samples' has values that cannot be weights of rows")


def _decode_columns(tensors: Tensors, n_outputs: int) -> ForestColumns:
    columns: dict[str, Any] = {name: tensors[name] for name in _COLUMNS | _ROLES if name in tensors}
    columns["hidden_start"] = tensors.get("hidden_start", np.zeros(len(columns["tree_start"]), dtype=np.int64))
    columns["hidden"] = tensors.get("hidden", np.empty(0))
    forest = ForestColumns(**columns, n_features=len(tensors["feature_mean"]), n_outputs=n_outputs)
    forest.model  # noqa: B018 - the core checks all indices when it makes its view
    inner = np.flatnonzero(forest.feature >= 0)
    left = forest.left[inner] + forest.tree_start[forest.tree_of_node[inner]]
    parents = np.bincount(np.concatenate([left, left + 1, forest.tree_start[:-1]]), minlength=len(forest.feature))
    if (parents != 1).any():
        raise ValueError("damaged model: every node but the roots needs one parent")
    if "param_start" in tensors and not np.array_equal(tensors["param_start"], forest.param_start):
        raise ValueError("damaged model: param_start is not where the parameters of the nodes are")
    return forest


def _decode_classes(tensor: npt.NDArray[Any] | None, kind: Any) -> npt.NDArray[Any]:
    if tensor is None or kind not in ("number", "string", "object") or tensor.ndim != (1 if kind == "number" else 2):
        raise ValueError("a classifier needs classes: numbers, or strings as rows of code points")
    classes = tensor
    if kind != "number":
        if tensor.dtype != np.uint32 or tensor.size == 0 or (tensor > 0x10FFFF).any():
            raise ValueError("tensor 'classes' must hold code points of strings")
        classes = tensor.view(f"U{tensor.shape[1]}").reshape(-1)
    elif tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
        raise ValueError("tensor 'classes' has values that are not finite")
    if len(classes) == 0 or not (classes[:-1] < classes[1:]).all():
        raise ValueError("tensor 'classes' must ascend")
    return classes.astype(object) if kind == "object" else classes


def _decode_names(number: Any, names: Any, n_columns: int) -> Labels | None:
    if type(number) is not int or number != n_columns:
        raise ValueError(f"n_features must be {n_columns}, as the tensors have it; got {number!r}")
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != n_columns or not all(isinstance(n, str) for n in names):
        raise ValueError(f"feature_names must be null or {n_columns} strings")
    return np.array(names, dtype=object)


def _decode_node_models(value: Any, own_module: Any) -> Any:
    """Return node models with a ``TorchNode`` in the place of its text, one object for all places of a text."""
    values = value if isinstance(value, list | tuple) else [value]
    made = {text: from_text(text, own_module) for text in dict.fromkeys(v for v in values if is_text(v))}
    decoded = [made.get(v, v) if is_text(v) else v for v in values]
    return type(value)(decoded) if isinstance(value, list | tuple) else decoded[0]


def _decode_tree_params(drawn: Any, n_trees: int, task: str, defaults: dict[str, Any], own_module: Any) -> TreeParams:
    if not isinstance(drawn, dict):
        raise ValueError("tree_params must be an object")
    check_known("a tree", drawn, [p.name for p in TREE_PARAMETERS])
    params: TreeParams = {}
    for parameter in TREE_PARAMETERS:
        # What a tree has that was grown before there was this parameter: the default of one tree, not a pool.
        values = drawn.get(parameter.name, [defaults.get(parameter.name, False)])
        if not isinstance(values, list) or len(values) not in (1, n_trees):
            raise ValueError(f"tree_params: {parameter.name} must have one value, or one per tree")
        if parameter.name == "node_model":
            values = _decode_node_models(values, own_module)
        checked = [parameter.check(decode_value(v)) for v in values]
        params[parameter.name] = checked if len(checked) == n_trees else checked * n_trees
    check_criteria(params["criterion"], task)
    return params


def _decode_entropy(entropy: Any) -> Entropy:
    words = entropy if isinstance(entropy, list) else [entropy]
    if not words or not all(isinstance(w, str) and w[:2] == "0x" and w[2:].isalnum() for w in words):
        raise ValueError("entropy must be a number in base 16, or a list of such")
    try:
        values = tuple(int(w, 16) for w in words)
    except ValueError as error:
        raise ValueError("entropy must be a number in base 16, or a list of such") from error
    return values if isinstance(entropy, list) else values[0]


def _decode_row_draws(draws: Any) -> tuple[bool, int, int, bytes] | None:
    if draws is None:
        return None
    if not isinstance(draws, list) or [type(v) for v in draws] != [bool, int, int, str]:
        raise ValueError("draws must be null, or a boolean, two integers and a checksum")
    try:
        return draws[0], draws[1], draws[2], bytes.fromhex(draws[3])
    except ValueError as error:
        raise ValueError("draws must end in a checksum in base 16") from error


def _decode_score(score: Any) -> float | None:
    if score is not None and not isinstance(score, float):
        raise ValueError("oob_score must be null or a number")
    return score
