"""A graph of ONNX operators as it is written: values are names, arrays become constants where they are used."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper

Value: TypeAlias = str  # the name of what an operator gives

OPSET = 18  # what is used here means the same since 13
ML_OPSET = 5  # has trees with doubles in and out; 3 has doubles in
ML = "ai.onnx.ml"
EXACT_IN_FLOATS = 2**24  # whole numbers up to this
_SMALL = 4096  # bytes
BOOL, DOUBLE, FLOAT = TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.FLOAT
INT32, INT64 = TensorProto.INT32, TensorProto.INT64


class Graph:
    """Operators and constants, in the order in which they were added."""

    def __init__(self, prefix: str = "", ml_opset: int = ML_OPSET) -> None:
        self.ml_opset = ml_opset  # version of the operators of ai.onnx.ml: 5, or 3
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._prefix = prefix
        self._known: dict[tuple[Any, ...], Value] = {}
        self._n_names = 0

    def name(self, what: str) -> Value:
        """Return a name that nothing else has."""
        self._n_names += 1
        return f"{self._prefix}{what}_{self._n_names}"

    def constant(self, values: npt.ArrayLike) -> Value:
        """Return a constant; small ones are kept once."""
        array = np.ascontiguousarray(values) if np.ndim(values) else np.asarray(values)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.nbytes <= _SMALL else None
        if key is not None and array.dtype != object and key in self._known:
            return self._known[key]
        name = self.name("constant")
        self.constants.append(numpy_helper.from_array(array, name))
        if key is not None:
            self._known[key] = name
        return name

    def doubles(self, values: npt.NDArray[Any]) -> Value:
        """Return a constant that may be stored in fewer digits than it is computed with."""
        stored = self.constant(values)
        return stored if values.dtype == np.float64 else self.add("Cast", stored, to=DOUBLE)

    def add(self, op: str, *inputs: Value | npt.NDArray[Any], **attributes: Any) -> Value:
        """Add an operator with one output, and return that."""
        return self._add(op, "", inputs, attributes)

    def add_ml(self, op: str, *inputs: Value, **attributes: Any) -> Value:
        """Add an operator of ai.onnx.ml."""
        return self._add(op, ML, inputs, attributes)

    def _add(
        self, op: str, domain: str, inputs: tuple[Value | npt.NDArray[Any], ...], attributes: dict[str, Any]
    ) -> Value:
        output = self.name(op)
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        node = helper.make_node(op, names, [output], name=output, domain=domain)
        node.attribute.extend(_attribute(name, value) for name, value in attributes.items() if value is not None)
        self.nodes.append(node)
        return output

    # ------------------------------------------------------------------------------------------------ few operators

    def reshape(self, value: Value, *shape: int) -> Value:
        """Give a value another shape; 0 keeps a dimension."""
        return self.add("Reshape", value, np.array(shape, dtype=np.int64))

    def sum(self, value: Value, *axes: int) -> Value:
        """Add up over some axes, which are gone then."""
        return self.add("ReduceSum", value, np.array(axes, dtype=np.int64), keepdims=0)

    def clip(self, value: Value, least: float, most: float) -> Value:
        """Return values within limits."""
        return self.add("Min", self.add("Max", value, np.array(least)), np.array(most))

    def sigmoid(self, value: Value) -> Value:
        """Return 1 / (1 + e^-x) to the last digits, which the operator of that name does not promise."""
        odds = self.add("Exp", self.add("Neg", self.add("Abs", value)))  # cannot overflow
        above = self.add("Where", self.add("Less", value, np.array(0.0)), odds, np.array(1.0))
        return self.add("Div", above, self.add("Add", odds, np.array(1.0)))

    def with_ones(self, value: Value, n_axes: int) -> Value:
        """Put a 1 before the values of the last axis."""
        pads = np.zeros(2 * n_axes, dtype=np.int64)
        pads[n_axes - 1] = 1
        return self.add("Pad", value, pads, np.array(1.0))


def _attribute(name: str, value: Any) -> AttributeProto:
    """Return an attribute: signed integers and truth values as a list, other arrays as a tensor."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "bi":
        attribute = AttributeProto(name=name, type=AttributeProto.INTS)
        attribute.ints.extend(value.astype(np.int64).tolist())
        return attribute
    if isinstance(value, np.ndarray):
        value = numpy_helper.from_array(np.ascontiguousarray(value), name)
    return helper.make_attribute(name, value)
