"""A fitted estimator as tensors and metadata, and back.

Whatever a file says is checked here before an estimator is made of it; see ``docs/format.md`` for what it holds. The
columns' indices are checked by the core.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._base import BoostBase
from ._columns import COEFFICIENTS, DTYPES, ForestColumns
from ._encoder_state import checked_fill, encode_encoder, take_encoder
from ._forest import BoostForestClassifier, BoostForestRegressor
from ._forest_part import ForestPart
from ._networks import decode_networks, encode_networks, from_text, is_text, take_networks
from ._parameters import TREE_PARAMETERS, TreeParams, check_criteria, tree_pools
from ._plain import check_known, decode_params, decode_value, encode_params, encode_value
from ._safetensors import Metadata, Tensors, parse_json, to_json
from ._stage_state import STAGE_TENSORS, encode_stages, take_stages
from ._threads import n_threads
from ._tree import BoostTreeClassifier, BoostTreeRegressor

ESTIMATORS: dict[str, type[BoostBase]] = {
    cls.__name__: cls for cls in (BoostTreeRegressor, BoostTreeClassifier, BoostForestRegressor, BoostForestClassifier)
}

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


def encode(estimator: Any, dtype: str) -> tuple[Tensors, Metadata, list[str]]:
    """Return tensors and metadata of a fitted estimator, and the parameters that have no place in them."""
    params, lost = encode_params(estimator.get_params(deep=False))
    tensors: Tensors = estimator.forest_.arrays()
    if len(tensors["hidden"]) == 0:
        tensors = {name: tensor for name, tensor in tensors.items() if name not in _HIDDEN}
    tensors["params"] = _shorten(tensors["params"], dtype)
    tensors |= encode_networks(estimator.forest_, estimator._tree_params["node_model"], dtype)
    tensors["tree_seeds"] = estimator.tree_seeds_
    tensors |= encode_encoder(estimator.encoder_)
    if estimator.fill_ is not None:
        tensors["fill"] = estimator.fill_
    if isinstance(estimator, ForestPart):
        tensors |= encode_stages(estimator)
    for name in _SCALING:
        tensors[name] = getattr(estimator, f"{name}_")
    kind = None
    if estimator._task == "classification":
        tensors["classes"], kind = _encode_classes(estimator.classes_)
    else:
        for name in _TARGET:
            tensors[name] = np.array(getattr(estimator, f"{name}_"))
    names = getattr(estimator, "feature_names_in_", None)
    draws = getattr(estimator, "_draws", None)
    metadata = {
        "params": params,
        "not_stored": lost,
        "n_features": estimator.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": kind,
        "tree_params": {name: _encode_draws(values) for name, values in estimator._tree_params.items()},
        "entropy": _encode_entropy(estimator._entropy),
        "draws": None if draws is None else [*draws[:3], draws[3].hex()],
        "oob_score": _encode_score(getattr(estimator, "oob_score_", None)),
        "dtype": estimator.forest_.dtype.name,
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


def _encode_classes(classes: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], str]:
    """Return the classes as numbers (strings as rows of code points) and what they were."""
    if classes.dtype.kind in "biuf" and classes.dtype.itemsize <= 8:
        return classes, "number"
    kind = "string" if classes.dtype.kind == "U" else "object"
    if kind == "string" or (classes.dtype == object and all(isinstance(c, str) for c in classes)):
        strings = classes.astype(np.str_)
        if np.array_equal(strings.astype(object), classes.astype(object)):  # else some end in zeros
            strings = strings.astype(strings.dtype.newbyteorder("="))
            return strings.reshape(-1, 1).view(np.uint32), kind
    raise ValueError(f"classes must be integers, floats, booleans or strings; got {classes[:3].tolist()!r}")


def _encode_draws(values: list[Any]) -> list[Any]:
    """Return one parameter of all trees: one value if it is the same everywhere (1 and 1.0 are not)."""
    plain = [encode_value(v) for v in values]
    return plain[:1] if len({to_json(v) for v in plain}) == 1 else plain


def _encode_entropy(entropy: Any) -> Any:
    # In base 16: there is no limit on digits.
    return [hex(word) for word in entropy] if isinstance(entropy, tuple) else hex(entropy)


def _encode_score(score: Any) -> float | None:
    return float(score) if isinstance(score, numbers.Real) and math.isfinite(score) else None


# ------------------------------------------------------------------------------------------------------------- decoding


def decode(name: str, tensors: Tensors, metadata: Metadata, own_module: Any = None) -> BoostBase:
    """Return the estimator that tensors and metadata stand for, or raise ValueError.

    ``own_module`` is what networks are made of where the file cannot say it.
    """
    if name not in ESTIMATORS:
        raise ValueError(f"it holds the unknown estimator {name!r}; known are {', '.join(ESTIMATORS)}")
    metadata = _DEFAULTS | metadata
    if metadata.keys() != METADATA | _DEFAULTS.keys():
        raise ValueError(f"its metadata must be {', '.join(sorted(METADATA))}; got {', '.join(sorted(metadata))}")
    cls = ESTIMATORS[name]
    fields = {key: parse_json(text, f"metadata {key!r}") for key, text in metadata.items()}
    params = decode_params(fields["params"], fields["not_stored"], cls._get_param_names())
    if "node_model" in params:
        params["node_model"] = _decode_node_models(params["node_model"], own_module)
    estimator = cls(**params)
    _check_params(estimator)
    tensors = dict(tensors)
    networks = take_networks(tensors)
    fitted: dict[str, Any] = {}
    if cls._task == "classification":
        fitted["classes_"] = _decode_classes(tensors.pop("classes", None), fields["classes"])
        fitted["n_classes_"] = len(fitted["classes_"])
    elif fields["classes"] is not None:
        raise ValueError("a regressor has no classes")
    n_classes = fitted.get("n_classes_", 1)
    fitted["encoder_"] = encoder = take_encoder(tensors, n_targets=1 if n_classes == 2 else n_classes)
    fill = tensors.pop("fill", None)
    is_forest = issubclass(cls, ForestPart)
    staged = {name: tensors.pop(name) for name in STAGE_TENSORS if is_forest and name in tensors}
    if fields["dtype"] not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(map(repr, DTYPES))}; got {fields['dtype']!r}")
    tensors = _checked(tensors, cls._task, np.dtype(fields["dtype"]))
    fitted["forest_"] = forest = _decode_forest(tensors, fitted.get("n_classes_", 0))
    fitted["fill_"] = checked_fill(fill, forest.n_features)
    if not is_forest and forest.n_trees != 1:
        raise ValueError(f"a {name} has one tree; got {forest.n_trees}")
    fitted |= {f"{key}_": tensors[key] for key in (*_SEEDS, *_SCALING)}
    fitted |= {f"{key}_": float(tensors[key]) for key in _TARGET if key in tensors}
    if encoder is not None and encoder.n_features != forest.n_features:
        raise ValueError(f"the columns make {encoder.n_features} features, but the trees have {forest.n_features}")
    n_columns = forest.n_features if encoder is None else len(encoder.columns)
    fitted |= _decode_features(fields["n_features"], fields["feature_names"], n_columns)
    fitted["_tree_params"] = drawn = _decode_tree_params(fields["tree_params"], forest.n_trees, cls._task, own_module)
    fitted["forest_"] = replace(forest, models=decode_networks(forest, drawn["node_model"], networks))
    fitted["_entropy"] = _decode_entropy(fields["entropy"])
    if is_forest:
        fitted |= take_stages(staged, forest.n_trees, forest.n_outputs, cls._task)
        fitted["_draws"] = _decode_row_draws(fields["draws"])
        fitted |= _decode_score(fields["oob_score"])
    estimator.__dict__.update(fitted)
    return estimator


def _check_params(estimator: Any) -> None:
    """Check the parameters as a fit does; those that only a fit reads have time until then."""
    tree_pools(estimator, estimator._task)
    estimator._check_parameters()
    if n_threads(getattr(estimator, "n_jobs", None)) >= 2**31:
        raise ValueError("n_jobs must be below 2^31")


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


def _decode_forest(tensors: Tensors, n_classes: int) -> ForestColumns:
    columns: dict[str, Any] = {name: tensors[name] for name in _COLUMNS | _ROLES if name in tensors}
    columns["hidden_start"] = tensors.get("hidden_start", np.zeros(len(columns["tree_start"]), dtype=np.int64))
    columns["hidden"] = tensors.get("hidden", np.empty(0))
    n_outputs = 1 if n_classes <= 2 else n_classes
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


def _decode_features(number: Any, names: Any, n_features: int) -> dict[str, Any]:
    if type(number) is not int or number != n_features:
        raise ValueError(f"n_features must be {n_features}, as the tensors have it; got {number!r}")
    if names is None:
        return {"n_features_in_": n_features}
    if not isinstance(names, list) or len(names) != n_features or not all(isinstance(n, str) for n in names):
        raise ValueError(f"feature_names must be null or {n_features} strings")
    return {"n_features_in_": n_features, "feature_names_in_": np.array(names, dtype=object)}


def _decode_node_models(value: Any, own_module: Any) -> Any:
    """Return node models with a ``TorchNode`` in the place of its text, one object for all places of a text."""
    values = value if isinstance(value, list | tuple) else [value]
    made = {text: from_text(text, own_module) for text in dict.fromkeys(v for v in values if is_text(v))}
    decoded = [made.get(v, v) if is_text(v) else v for v in values]
    return type(value)(decoded) if isinstance(value, list | tuple) else decoded[0]


def _decode_tree_params(drawn: Any, n_trees: int, task: str, own_module: Any) -> TreeParams:
    if not isinstance(drawn, dict):
        raise ValueError("tree_params must be an object")
    check_known("a tree", drawn, [p.name for p in TREE_PARAMETERS])
    params: TreeParams = {}
    for parameter in TREE_PARAMETERS:
        values = drawn.get(parameter.name, [_default_of_tree(parameter.name, task)])
        if not isinstance(values, list) or len(values) not in (1, n_trees):
            raise ValueError(f"tree_params: {parameter.name} must have one value, or one per tree")
        if parameter.name == "node_model":
            values = _decode_node_models(values, own_module)
        checked = [parameter.check(decode_value(v)) for v in values]
        params[parameter.name] = checked if len(checked) == n_trees else checked * n_trees
    check_criteria(params["criterion"], task)
    return params


def _default_of_tree(name: str, task: str) -> Any:
    """Return what a tree has that was grown before there was this parameter: the default of one tree, no pool."""
    cls = BoostTreeRegressor if task == "regression" else BoostTreeClassifier
    return getattr(cls(), name, False)  # as tree_pools: classifiers clip nothing


def _decode_entropy(entropy: Any) -> int | tuple[int, ...]:
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


def _decode_score(score: Any) -> dict[str, float]:
    if score is None:
        return {}
    if not isinstance(score, float):
        raise ValueError("oob_score must be null or a number")
    return {"oob_score_": score}
