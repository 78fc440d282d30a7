"""What scores mean, in a graph: the functions of ``_losses`` that prediction needs, one class for each loss."""

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np

from .._core import Link
from .._losses import CrossEntropy, Logistic, Loss, RegressionLoss, Softmax
from .._losses.cross_entropy import _LEAST_PROBABILITY
from .._losses.log_link import LEAST_OUTPUT
from ._graph import Graph, Value

L = TypeVar("L", bound=Loss)

_LARGEST_LOG = 230.0  # as in the core: sums of e^230 are finite


class LossGraph(ABC, Generic[L]):
    """The same as the methods of the loss, for scores and outputs whose last axis are the outputs."""

    def __init__(self, loss: L) -> None:
        self.loss = loss

    @abstractmethod
    def outputs(self, graph: Graph, scores: Value) -> Value:
        """Return the outputs of scores."""

    @abstractmethod
    def scores(self, graph: Graph, outputs: Value) -> Value:
        """Return the scores that mean outputs stand for."""

    @abstractmethod
    def decode(self, graph: Graph, outputs: Value) -> Value:
        """Return predictions in the user's units, rows × 1, or the probabilities of all classes, rows × classes."""


class _IdentityGraph(LossGraph[RegressionLoss]):
    def outputs(self, graph: Graph, scores: Value) -> Value:
        return scores

    def scores(self, graph: Graph, outputs: Value) -> Value:
        return outputs

    def decode(self, graph: Graph, outputs: Value) -> Value:
        if self.loss.predicts_exponential:
            power = graph.add("Exp", graph.clip(outputs, -_LARGEST_LOG, _LARGEST_LOG))
            return graph.add("Mul", power, np.array(self.loss.output_unit))
        scaled = graph.add("Mul", outputs, np.array(self.loss.scale))
        return graph.add("Add", scaled, np.array(self.loss.mean))


class _LogGraph(LossGraph[RegressionLoss]):
    def outputs(self, graph: Graph, scores: Value) -> Value:
        return graph.add("Exp", graph.clip(scores, -_LARGEST_LOG, _LARGEST_LOG))

    def scores(self, graph: Graph, outputs: Value) -> Value:
        return graph.add("Log", graph.add("Max", outputs, np.array(LEAST_OUTPUT)))

    def decode(self, graph: Graph, outputs: Value) -> Value:
        return graph.add("Mul", outputs, np.array(self.loss.output_unit))


class _LogisticGraph(LossGraph[Logistic]):
    def outputs(self, graph: Graph, scores: Value) -> Value:
        return graph.sigmoid(scores)

    def scores(self, graph: Graph, outputs: Value) -> Value:
        p = graph.clip(outputs, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
        return graph.add("Log", graph.add("Div", p, graph.add("Sub", np.array(1.0), p)))

    def decode(self, graph: Graph, outputs: Value) -> Value:
        if self.loss.n_classes == 1:
            nothing = graph.add("Mul", outputs, np.array(0.0))
            return graph.add("Add", nothing, np.array(1.0))
        return graph.add("Concat", graph.add("Sub", np.array(1.0), outputs), outputs, axis=1)


class _SoftmaxGraph(LossGraph[Softmax]):
    def outputs(self, graph: Graph, scores: Value) -> Value:
        return graph.add("Softmax", scores, axis=-1)

    def scores(self, graph: Graph, outputs: Value) -> Value:
        logs = graph.add("Log", graph.add("Max", outputs, np.array(_LEAST_PROBABILITY)))
        total = graph.add("ReduceSum", logs, np.array([1]), keepdims=1)
        return graph.add("Sub", logs, graph.add("Div", total, np.array(float(self.loss.n_classes))))

    def decode(self, graph: Graph, outputs: Value) -> Value:
        return outputs


_GRAPHS: dict[Link, type[LossGraph[Any]]] = {
    Link.IDENTITY: _IdentityGraph,
    Link.LOG: _LogGraph,
    Link.SIGMOID: _LogisticGraph,
    Link.SOFTMAX: _SoftmaxGraph,
}


def loss_graph(loss: Loss) -> LossGraph[Any]:
    """Return the loss as a graph has it."""
    return _GRAPHS[loss.link](loss)


def labels(graph: Graph, loss: CrossEntropy, probabilities: Value) -> Value:
    """Return the most probable class of every row."""
    classes = loss.classes
    classes = classes.astype(object) if classes.dtype.kind in "OUS" else classes.astype(label_type(loss))
    return graph.add("Gather", classes, graph.add("ArgMax", probabilities, axis=1, keepdims=0), axis=0)


def label_type(loss: CrossEntropy) -> Any:
    """Return the NumPy type of labels in a graph: text, integers, truth values or doubles."""
    kind = loss.classes.dtype.kind
    if kind == "O" and not all(isinstance(label, str) for label in loss.classes):
        raise ValueError("to_onnx needs classes that are all text or all numbers of one type.")
    return {"b": np.bool_, "f": np.float64, "O": np.str_, "U": np.str_, "S": np.str_}.get(kind, np.int64)
