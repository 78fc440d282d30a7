"""The converter of trees and forests that skl2onnx calls when it meets one in a pipeline."""

from typing import Any

import numpy as np
from onnx import TensorProto, helper
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType

from .._estimator.base import STORED
from .._losses import CrossEntropy
from .._model.model import Model
from ._features import Input
from ._graph import INT64, ML, Graph
from ._losses import label_type
from ._onnx import add_predictions, check

_ML_OPSET = 3  # the newest that skl2onnx lets a model have
_LEAST_OPSET = 13  # of the operators that are used here
_CLASSIFIER_OPTIONS = {"zipmap": [True, False, "columns"], "output_class_labels": [False, True], "nocl": [True, False]}


def register() -> None:
    """Tell skl2onnx of all trees and forests."""
    for name, estimator in STORED.items():
        options = _CLASSIFIER_OPTIONS if estimator._task == "classification" else None
        update_registered_converter(estimator, f"Boostforest{name}", _declare_outputs, _convert, options=options)


def _declare_outputs(operator: Any) -> None:
    """Say what an estimator gives: doubles if it is given some, else floats."""
    model: Model = operator.raw_operator._fitted()
    check(model)
    n_rows = operator.inputs[0].get_first_dimension()
    is_double = any(isinstance(given.type, DoubleTensorType) for given in operator.inputs)
    numbers = DoubleTensorType if is_double else FloatTensorType
    if isinstance(model.loss, CrossEntropy):
        is_text = label_type(model.loss) is np.str_
        operator.outputs[0].type = (StringTensorType if is_text else Int64TensorType)([n_rows])
        operator.outputs[1].type = numbers([n_rows, model.loss.n_classes])
    else:
        operator.outputs[0].type = numbers([n_rows, 1])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of an estimator to that of its pipeline."""
    if container.target_opset_any_domain("") < _LEAST_OPSET:
        raise ValueError(f"target_opset must be {_LEAST_OPSET} or more for {type(operator.raw_operator).__name__}.")
    model: Model = operator.raw_operator._fitted()
    graph = Graph(scope.get_unique_variable_name("boostforest") + "_", ml_opset=_ML_OPSET)
    numbers = operator.outputs[-1]
    dtype = "float64" if isinstance(numbers.type, DoubleTensorType) else "float32"
    found = add_predictions(graph, model, _inputs(operator, model), dtype)
    results = [found.values]
    if found.labels is not None:
        is_text = isinstance(operator.outputs[0].type, StringTensorType)
        results.insert(0, found.labels if is_text else graph.add("Cast", found.labels, to=INT64))
    for value, variable in zip(results, operator.outputs, strict=True):
        graph.nodes.append(helper.make_node("Identity", [value], [variable.full_name], name=graph.name("Identity")))
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    container.node_domain_version_pair_sets.update({("", _LEAST_OPSET), (ML, _ML_OPSET)})


def _inputs(operator: Any, model: Model) -> list[Input]:
    """Return the inputs of an estimator in a pipeline, which follow each other as the columns of the fit did."""
    n_columns, n_known = model.features.n_columns, 0
    inputs: list[Input] = []
    for variable in operator.inputs:
        width = variable.type.shape[1] if len(variable.type.shape) > 1 else None
        width = n_columns - n_known if width is None else int(width)
        n_known += width
        inputs.append(Input(variable.full_name, _type(variable), width))
    if n_known != n_columns:
        raise ValueError(
            f"{type(operator.raw_operator).__name__} was fitted on {n_columns} columns; its inputs have {n_known}."
        )
    return inputs


def _type(variable: Any) -> int:
    found: int = variable.type.to_onnx_type().tensor_type.elem_type
    return found if found != TensorProto.UNDEFINED else TensorProto.FLOAT
