"""A fitted tree or forest as an ONNX model: the graph put together, and what it says of itself."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from .._base.typing import Floats
from .._estimator.targets import require_one
from .._losses import CrossEntropy
from .._model.model import Calibration, Model
from ._features import FeatureValues, Input, column_name, own_inputs
from ._graph import INT64, ML, OPSET, Graph, Value
from ._losses import LossGraph, label_type, labels, loss_graph
from ._models import NodeModels
from ._trees import Trees

TYPES = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}
_LABEL_TYPES = {
    np.str_: TensorProto.STRING,
    np.bool_: TensorProto.BOOL,
    np.int64: TensorProto.INT64,
    np.float64: TensorProto.DOUBLE,
}
_IR_VERSION = 10  # that version 5 of ai.onnx.ml came with


@dataclass(frozen=True)
class Predictions:
    """What a graph gives."""

    values: Value  #: predictions, rows × 1, or probabilities, rows × classes
    labels: Value | None  #: of classifiers: the most probable class of every row
    leaves: Value | None  #: if asked for: node numbers, rows × trees


def check(model: Model) -> None:
    """Refuse what a graph cannot say."""
    require_one(model, "to_onnx")
    if model.columns.in_python.any():
        raise ValueError(
            "to_onnx cannot express node models in Python, such as networks and scikit-learn regressors: use node "
            "models of the core (linear, constant, ELM, SVR)."
        )
    if model.columns.monotonic_cst is not None:
        raise ValueError("to_onnx cannot express forests with monotonic_cst: fit without constraints.")
    model.features.check_plain("to_onnx")
    loss_graph(model.loss)


def add_predictions(
    graph: Graph, model: Model, inputs: Sequence[Input], dtype: str, with_leaves: bool = False
) -> Predictions:
    """Add everything that leads from inputs to predictions of a type; in between all numbers are doubles."""
    check(model)
    columns = model.columns if model.columns.dtype != np.float64 else model.columns.astype(dtype)
    features = FeatureValues(graph, model.features, inputs, columns.model_features)
    loss = loss_graph(model.loss)
    models = NodeModels(graph, columns, features, loss, dtype)
    outputs = _outputs(graph, model, models, loss)
    values = loss.decode(graph, outputs)
    label = labels(graph, model.loss, values) if isinstance(model.loss, CrossEntropy) else None
    leaves = None
    if with_leaves:
        trees = Trees(columns, np.arange(columns.n_trees))
        numbers = trees.leaves - columns.tree_start[trees.tree_of_leaf]
        leaves = trees.numbers_of_leaves(graph, models.routing, numbers, INT64)
    if dtype == "float32":
        values = graph.add("Cast", values, to=TYPES[dtype])
    return Predictions(values, label, leaves)


def _outputs(graph: Graph, model: Model, models: NodeModels, loss: LossGraph[Any]) -> Value:
    """Return what the forest predicts, rows × outputs: ``Model.outputs``."""
    stages, numbers = model.stages, np.arange(model.n_trees)
    first, step = stages.ends[0], stages.steps[0]
    mean = models.weighted_sum(numbers[:first], np.full(first, 1 / first), as_outputs=True)
    if len(stages) == 1 and step == 1 and model.calibration.is_identity:
        return mean
    scores = loss.scores(graph, mean)
    if step != 1:
        scores = graph.add("Mul", scores, np.array(step))
    if first < model.n_trees:
        weights = stages.tree_weights()[first:]
        scores = graph.add("Add", scores, models.weighted_sum(numbers[first:], weights, as_outputs=False))
    return _calibrated(graph, model.calibration, loss, scores)


def _calibrated(graph: Graph, calibration: Calibration, loss: LossGraph[Any], scores: Value) -> Value:
    """Return the outputs of scores: ``Calibration.outputs``."""
    if calibration.factor != 1.0:
        scores = graph.add("Mul", scores, np.array(calibration.factor))
    p = loss.outputs(graph, scores)
    if not calibration.knots:
        return p
    mapped = [
        _interpolated(graph, graph.add("Gather", p, np.array([k]), axis=1), *knots)
        for k, knots in enumerate(calibration.knots)
    ]
    if len(mapped) == 1:
        return mapped[0]
    whole = graph.add("Concat", *mapped, axis=1)
    return graph.add("Div", whole, graph.add("ReduceSum", whole, np.array([1]), keepdims=1))


def _interpolated(graph: Graph, x: Value, known: Floats, values: Floats) -> Value:
    """Return values between knots, rows × 1: ``np.interp``."""
    if len(known) == 1:
        return graph.add("Add", graph.add("Mul", x, np.array(0.0)), values)
    x = graph.clip(x, known[0], known[-1])
    passed = graph.add("Cast", graph.add("GreaterOrEqual", x, known[None, 1:-1]), to=INT64)
    before = graph.reshape(graph.sum(passed, 1), -1, 1)
    start, end, low, high = (
        graph.add("Gather", table, before, axis=0) for table in (known[:-1], known[1:], values[:-1], values[1:])
    )
    share = graph.add("Div", graph.add("Sub", x, start), graph.add("Sub", end, start))
    return graph.add("Add", low, graph.add("Mul", share, graph.add("Sub", high, low)))


def make_model(model: Model, name: str, dtype: str, with_leaves: bool, ml_opset: int) -> ModelProto:
    """Return the ONNX model of a fitted model."""
    inputs = own_inputs(model.features, TYPES[dtype])
    graph = Graph(ml_opset=ml_opset)
    found = add_predictions(graph, model, inputs, dtype, with_leaves)
    outputs: list[tuple[str, Value | None, int, list[Any]]] = []
    if isinstance(model.loss, CrossEntropy):
        outputs.append(("label", found.labels, _LABEL_TYPES[label_type(model.loss)], [None]))
        outputs.append(("probabilities", found.values, TYPES[dtype], [None, model.loss.n_classes]))
    else:
        outputs.append(("variable", found.values, TYPES[dtype], [None, 1]))
    outputs.append(("leaves", found.leaves, INT64, [None, model.n_trees]))
    present = [(known, value, type_, shape) for known, value, type_, shape in outputs if value is not None]
    for known, value, _, _ in present:
        graph.nodes.append(helper.make_node("Identity", [value], [known], name=known))
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            name,
            [helper.make_tensor_value_info(given.name, given.type, [None, given.n_columns]) for given in inputs],
            [helper.make_tensor_value_info(known, type_, shape) for known, _, type_, shape in present],
            initializer=graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ml_opset)],
        ir_version=_IR_VERSION,
        producer_name="boostforest",
        producer_version=version("boostforest"),
    )
    names = [column_name(model.features, j) for j in range(model.features.n_columns)]
    helper.set_model_props(proto, {"columns": json.dumps(names)})
    return proto
