"""Parameters of estimators as JSON: plain values, lists, tuples, ranges and dictionaries of them, and node models."""

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..nodes._native import MODELS, NodeModel
from ..nodes.torch import TorchNode
from .container import to_json
from .networks import to_text

_MAX_BITS = 1024  # of an integer
_MAX_VALUES = 2**16  # of a range, which is written with three numbers
_MAX_TEXT = 2**18  # of a parameter: all of them must find room in a header


class NotPlainError(Exception):
    """A value that a file cannot hold: a distribution, a function, a generator or the like."""


def plain_number(value: Any) -> bool | int | float | str | None:
    """Return a number, a string or None as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, TorchNode):
        return to_text(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral) and int(value).bit_length() <= _MAX_BITS:
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral) and math.isfinite(value):
        return float(value)
    raise NotPlainError


def encode_value(value: Any) -> Any:
    """Return a plain value or a node model as JSON can hold it."""
    if isinstance(value, NodeModel) and MODELS.get(type(value).__name__) is type(value):
        return {type(value).__name__: {name: _encode(v) for name, v in value.get_params().items()}}
    return plain_number(value)


def _encode(value: Any) -> Any:
    if isinstance(value, range):
        if len(value) > _MAX_VALUES:
            raise NotPlainError
        return {"range": [value.start, value.stop, value.step]}
    if _has_groups(value):
        return {"groups": [sorted((plain_number(v) for v in group), key=_by_type) for group in value]}
    if isinstance(value, tuple):
        return {"tuple": [encode_value(v) for v in value]}
    if isinstance(value, Mapping):
        if not all(_is_key(key) for key in value):
            raise NotPlainError
        return {"dict": [plain_number(v) for item in value.items() for v in item]}
    if hasattr(value, "__array__") and np.ndim(value) == 1:  # NumPy, or a column of names from a table
        value = np.asarray(value).tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [encode_value(v) for v in value]
    return encode_value(value)


def _has_groups(value: Any) -> bool:
    is_list = isinstance(value, list | tuple) and len(value) > 0
    return is_list and all(isinstance(group, list | tuple | set | frozenset) for group in value)


def _by_type(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value


def _is_key(key: Any) -> bool:
    # Any number of longer integers can have the same hash; labels of classes are no longer than this.
    return not isinstance(key, numbers.Integral) or abs(int(key)) < 2**64


def encode_params(params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return parameters for a file, null where that is impossible, and the names of those."""
    encoded: dict[str, Any] = {}
    lost = []
    for name, value in params.items():
        try:
            encoded[name] = _encode(value)
            if len(to_json(encoded[name])) > _MAX_TEXT:
                raise NotPlainError
        except (NotPlainError, ArithmeticError, TypeError, ValueError):  # whatever an object of the user's raises
            encoded[name] = None
            lost.append(name)
    return encoded, lost


def decode_value(value: Any) -> Any:
    """Return what :func:`encode_value` has written."""
    if not isinstance(value, dict):
        return value
    name, params = _only_item(value)
    if name not in MODELS or not isinstance(params, dict):
        raise ValueError(f"{name!r} is not a node model")
    check_known(name, params, MODELS[name]._get_param_names())
    return MODELS[name](**{key: _decode(v, nested=True) for key, v in params.items()})


def _only_item(value: dict[str, Any]) -> tuple[str, Any]:
    if len(value) != 1:
        raise ValueError("an object needs one name")
    return next(iter(value.items()))


def _decode(value: Any, nested: bool = False) -> Any:
    if not nested and isinstance(value, dict) and value.keys() <= MODELS.keys():
        return decode_value(value)
    if isinstance(value, dict):
        tag, values = _only_item(value)
    else:
        values, tag = (value, "list") if isinstance(value, list) else ([value], "value")
    if tag == "groups" and not nested and isinstance(values, list) and all(isinstance(v, list) for v in values):
        return [_decode(group, nested=True) for group in values]
    if not isinstance(values, list) or any(isinstance(v, list) or (nested and isinstance(v, dict)) for v in values):
        raise ValueError(f"{tag} must be a list of plain values")
    values = [decode_value(v) for v in values]
    if tag == "value":
        return values[0]
    if tag == "list":
        return values
    if tag == "tuple":
        return tuple(values)
    if tag == "dict" and len(values) % 2 == 0 and all(_is_key(key) for key in values[::2]):
        return dict(zip(values[::2], values[1::2], strict=True))
    if tag == "range" and len(values) == 3 and all(type(v) is int and abs(v) < 2**62 for v in values) and values[2]:
        result = range(*values)
        if len(result) <= _MAX_VALUES:
            return result
    raise ValueError(f"{tag!r} is unknown or has the wrong values")


def check_known(what: str, names: Iterable[Any], known: Sequence[str]) -> None:
    """Refuse parameters that this version does not have; those that a file does not have get their defaults."""
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise ValueError(
            f"{what} has no parameter {unknown!r} in this version: upgrade boostforest, if a newer one has"
        )


def decode_params(encoded: Any, lost: Any, known: Sequence[str]) -> dict[str, Any]:
    """Return the parameters that a file holds; those that it names as lost are left to their defaults."""
    if not isinstance(encoded, dict) or not isinstance(lost, list):
        raise ValueError("params must be an object, and not_stored a list of names")
    check_known("the estimator", [*encoded, *lost], known)
    try:
        return {name: _decode(value) for name, value in encoded.items() if name not in lost}
    except ValueError as error:
        raise ValueError(f"params: {error}") from error
