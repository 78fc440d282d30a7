"""Who fits and evaluates the node models that the core knows nothing of."""

from typing import Any

from .._base.typing import Floats
from ._native import NodeModel
from ._python import NodeFitter


def grows_together(node_model: object) -> bool:
    """Tell whether the models of many trees are best fitted together, in this process; complain if they cannot be."""
    if isinstance(node_model, NodeModel):
        from ._torch import training_device

        return bool(training_device(node_model).type == "cuda")
    return False


def fitter_for(node_model: Any, values: Floats, n_outputs: int, task: str) -> NodeFitter:
    """Return who fits and evaluates a node model over a table."""
    if isinstance(node_model, NodeModel):
        from ._torch import TorchFitter

        return TorchFitter(node_model, values, n_outputs, task)
    from ._regressor import RegressorFitter

    return RegressorFitter(node_model, values, n_outputs, task)
