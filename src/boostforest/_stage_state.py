"""Stages, calibration and what is kept of out-of-bag rows, as tensors of a model file and back, checked."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ._calibration import Calibration
from ._forest_part import ForestPart
from ._intervals import LeftOut
from ._safetensors import Tensors
from ._stages import Stages

_STAGES = ("stage_end", "stage_step")
_KNOTS = ("knot_start", "knot_x", "knot_y")
_LEFT_OUT = ("residuals", "absent")
_WEIGHTS = ("residual_weight", "conformity_weight")
STAGE_TENSORS = (*_STAGES, "oob_loss", "calibration_factor", *_KNOTS, *_LEFT_OUT, "conformity", *_WEIGHTS)


def encode_stages(forest: ForestPart) -> Tensors:
    """Return the tensors of a forest that the paper's does not have."""
    tensors: Tensors = {}
    if forest.n_stages_ > 1:
        tensors["stage_end"] = np.array(forest.stages_.ends, dtype=np.int64)
        tensors["stage_step"] = np.array(forest.stages_.steps)
    if hasattr(forest, "oob_losses_"):
        tensors["oob_loss"] = forest.oob_losses_
    calibration = forest.calibration_
    if calibration.factor != 1.0:
        tensors["calibration_factor"] = np.array(calibration.factor)
    if calibration.knots:
        tensors["knot_start"] = np.cumsum([0, *(len(x) for x, _ in calibration.knots)], dtype=np.int64)
        tensors["knot_x"] = np.concatenate([x for x, _ in calibration.knots])
        tensors["knot_y"] = np.concatenate([y for _, y in calibration.knots])
    if "_left_out" in vars(forest):
        tensors["residuals"] = forest._left_out.residuals
        tensors["absent"] = np.packbits(forest._left_out.absent, axis=1)
        if forest._left_out.weight is not None:
            tensors["residual_weight"] = forest._left_out.weight
    if "_conformity" in vars(forest):
        tensors["conformity"] = forest._conformity
    if "_conformity_weight" in vars(forest):
        tensors["conformity_weight"] = forest._conformity_weight
    return tensors


def take_stages(tensors: Tensors, n_trees: int, n_outputs: int, task: str) -> dict[str, Any]:
    """Return the attributes that these tensors of a file stand for."""
    attributes: dict[str, Any] = {"stages_": _stages(tensors, n_trees), "calibration_": Calibration()}
    n_stages = len(attributes["stages_"].ends)
    if (losses := tensors.pop("oob_loss", None)) is not None:
        attributes["oob_losses_"] = _floats(losses, "oob_loss", n_stages, finite=False)
    if task == "classification":
        attributes["calibration_"] = _calibration(tensors, n_outputs)
        if (scores := tensors.pop("conformity", None)) is not None:
            if (np.diff(_floats(scores, "conformity", None)) < 0).any():
                raise ValueError("tensor 'conformity' must ascend")
            attributes["_conformity"] = scores
            if (weight := tensors.pop("conformity_weight", None)) is not None:
                attributes["_conformity_weight"] = _weights(weight, "conformity_weight", len(scores))
    elif tensors.keys() & set(_LEFT_OUT):
        weight = tensors.pop("residual_weight", None)
        attributes["_left_out"] = _left_out(n_trees, weight, *_together(tensors, _LEFT_OUT))
    if tensors:
        raise ValueError(f"tensors are unknown for {task}: {', '.join(sorted(tensors))}")
    return attributes


def _together(tensors: Tensors, names: tuple[str, ...]) -> list[Any]:
    if missing := [name for name in names if name not in tensors]:
        raise ValueError(f"tensors are missing: {', '.join(missing)}")
    return [tensors.pop(name) for name in names]


def _floats(array: Any, name: str, length: int | None, finite: bool = True) -> Any:
    if array.dtype != np.float64 or array.ndim != 1 or (length is not None and len(array) != length):
        raise ValueError(f"tensor {name!r} must hold {'some' if length is None else length} float64 values")
    if finite and not np.isfinite(array).all():
        raise ValueError(f"tensor {name!r} has values that are not finite")
    return array


def _ends(array: Any, name: str, last: int, least: int) -> Any:
    """Check numbers that ascend, each by at least ``least``, to a last one."""
    if array.dtype != np.int64 or array.ndim != 1 or len(array) == 0 or array[-1] != last:
        raise ValueError(f"tensor {name!r} must hold integers that end with {last}")
    # Compared, not subtracted: the differences of hostile numbers overflow.
    if not ((array[1:] > array[:-1]) if least else (array[1:] >= array[:-1])).all() or array[0] < least:
        raise ValueError(f"tensor {name!r} must ascend")
    return array


def _stages(tensors: Tensors, n_trees: int) -> Stages:
    if not tensors.keys() & set(_STAGES):
        return Stages((n_trees,), (1.0,))
    ends, steps = _together(tensors, _STAGES)
    _ends(ends, "stage_end", n_trees, 1)
    _floats(steps, "stage_step", len(ends))
    if steps[0] != 1 or not ((steps > 0) & (steps <= 1)).all():
        raise ValueError("tensor 'stage_step' must start with 1 and hold values above 0, up to 1")
    return Stages(tuple(int(e) for e in ends), tuple(float(s) for s in steps))


def _calibration(tensors: Tensors, n_outputs: int) -> Calibration:
    factor = tensors.pop("calibration_factor", np.array(1.0))
    if factor.dtype != np.float64 or factor.shape != () or not np.isfinite(factor) or factor <= 0:
        raise ValueError("tensor 'calibration_factor' must be a float64 above zero")
    if not tensors.keys() & set(_KNOTS):
        return Calibration(float(factor))
    start, x, y = _together(tensors, _KNOTS)
    _floats(y, "knot_y", len(_floats(x, "knot_x", None)))
    if len(_ends(start, "knot_start", len(x), 0)) != n_outputs + 1 or start[0] != 0 or (np.diff(start) == 0).any():
        raise ValueError("tensor 'knot_start' must begin with 0 and have knots for every output")
    knots = [(x[a:b], y[a:b]) for a, b in itertools.pairwise(start)]
    if any((np.diff(a) < 0).any() for pair in knots for a in pair) or not ((y > 0) & (y < 1)).all():
        raise ValueError("knots must ascend, and map to probabilities above 0 and below 1")
    return Calibration(float(factor), tuple(knots))


def _weights(array: Any, name: str, length: int) -> Any:
    if length == 0 or (_floats(array, name, length) <= 0).any():
        raise ValueError(f"tensor {name!r} must hold values above zero")
    return array


def _left_out(n_trees: int, weight: Any, residuals: Any, absent: Any) -> LeftOut:
    n = len(_floats(residuals, "residuals", None))
    if (residuals < 0).any():
        raise ValueError("tensor 'residuals' has values below zero")
    if absent.dtype != np.uint8 or absent.shape != (n_trees, -(-n // 8)):
        raise ValueError("tensor 'absent' must have a bit for every tree and residual")
    if weight is not None:
        _weights(weight, "residual_weight", n)
    return LeftOut(residuals, np.unpackbits(absent, axis=1, count=n).astype(np.bool_), weight)
