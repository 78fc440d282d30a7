"""Networks at the nodes. Needs PyTorch: ``pip install "boostforest[torch]"``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from .._base.declare import argument, choice, declared, integer, is_integer, pooled, real
from ._native import PYTHON, NodeModel

if TYPE_CHECKING:
    import torch

__all__ = ["CNN", "MLP", "TorchNode"]

_DEVICE = replace(choice({"auto": 0, "cpu": 1, "cuda": 2}), name="TorchNode.device")


class MLP(BaseEstimator):
    """Layers of rectified linear units; the defaults make about 350,000 parameters of 28 features, as in the paper.

    Parameters
    ----------
    hidden : int or sequence of int, default=(512, 512, 128)
        Units of each hidden layer.

    Examples
    --------
    >>> from boostforest.nodes.torch import MLP
    >>> MLP(hidden=(64, 64))
    MLP(hidden=(64, 64))
    """

    def __init__(self, hidden: Any = (512, 512, 128)) -> None:
        self.hidden = hidden

    def __call__(self, n_features: int, n_outputs: int) -> torch.nn.Module:
        """Return the network."""
        from torch import nn

        widths = _sizes("MLP.hidden", self.hidden)
        layers: list[nn.Module] = []
        for before, after in zip((n_features, *widths), widths, strict=False):
            layers += [nn.Linear(before, after), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(widths[-1], n_outputs))


class CNN(BaseEstimator):
    """Convolutions with stride and rectified linear units, then one linear layer.

    With the defaults an image of 28 × 28 pixels and ten classes make 3,106 parameters; the network in the paper had
    about 3,140. Every row is an image: the features are its pixels, row by row, channel after channel. Give the
    estimator `scale=False` and pixels from 0 to 1: pixels that hardly vary must not be blown up.

    Parameters
    ----------
    image_shape : tuple of int
        (height, width), or (channels, height, width).
    channels : int or sequence of int, default=(8, 8)
        Channels after each convolution.
    kernel_size : int, default=5
        Side of the kernels.
    stride : int, default=2
        Step of the kernels: each convolution leaves about 1 / stride of the height and the width.

    Examples
    --------
    >>> from boostforest.nodes.torch import CNN
    >>> CNN(image_shape=(28, 28))
    CNN(image_shape=(28, 28))
    """

    def __init__(self, image_shape: Any, channels: Any = (8, 8), kernel_size: int = 5, stride: int = 2) -> None:
        self.image_shape = image_shape
        self.channels = channels
        self.kernel_size = kernel_size
        self.stride = stride

    def __call__(self, n_features: int, n_outputs: int) -> torch.nn.Module:
        """Return the network."""
        from torch import nn

        shape = _sizes("CNN.image_shape", self.image_shape)
        depth, height, width = (1, *shape) if len(shape) == 2 else shape if len(shape) == 3 else (0, 0, 0)
        if depth * height * width != n_features:
            raise ValueError(
                f"CNN.image_shape must be (height, width) or (channels, height, width) of an image of {n_features} "
                f"values, the features of X; got {self.image_shape!r}."
            )
        kernel, stride = (_sizes(f"CNN.{name}", getattr(self, name))[0] for name in ("kernel_size", "stride"))
        layers: list[nn.Module] = [nn.Unflatten(1, (depth, height, width))]
        for after in _sizes("CNN.channels", self.channels):
            layers += [nn.Conv2d(depth, after, kernel, stride), nn.ReLU()]
            depth, height, width = after, (height - kernel) // stride + 1, (width - kernel) // stride + 1
            if min(height, width) < 1:
                raise ValueError(
                    f"CNN.kernel_size={self.kernel_size!r} leaves nothing of an image of {self.image_shape!r} after "
                    f"{len(layers) // 2} convolutions; use a smaller one, or fewer channels."
                )
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(depth * height * width, n_outputs))


def require_torch() -> None:
    """Say what to install where PyTorch is missing."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError('TorchNode needs PyTorch: pip install "boostforest[torch]".') from error


def _sizes(name: str, value: Any) -> tuple[int, ...]:
    """Return one or more sizes as a tuple."""
    sizes = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not sizes or not all(is_integer(size, 1) for size in sizes):
        raise ValueError(f"{name} must hold integers of at least 1; got {value!r}.")
    return tuple(int(size) for size in sizes)


@declared
class TorchNode(NodeModel):
    """A PyTorch network at every node, trained by AdamW from the weights of the node above.

    The networks of a node's children start from its own weights, those of the root's children from random weights that
    the tree has in common. A network has one output, or one per class if there are more than two, and minimises the
    weighted squared error to the node's pseudo-labels; in classification its outputs are kept within (-4, 4), the range
    of the pseudo-labels. It sees all rows of its node: the estimator's `batch_size` is for the search of the split.

    {parameters}

    See Also
    --------
    boostforest.nodes : Node models of the compiled core.

    Notes
    -----
    The four numbers may be pools, from which every tree draws. On a CPU a fit is the same for any `n_jobs`, to the bit;
    each tree uses one thread. On a GPU it is the same to rounding, which training magnifies.

    Examples
    --------
    >>> from boostforest import BoostForestClassifier
    >>> from boostforest.nodes.torch import CNN, TorchNode
    >>> node = TorchNode(CNN((28, 28)), epochs=10)
    >>> BoostForestClassifier(10, node_model=node, max_depth=5, min_samples_leaf=1024, batch_size=None, scale=False)
    BoostForestClassifier(batch_size=None, max_depth=5, min_samples_leaf=1024,
                          n_estimators=10,
                          node_model=TorchNode(epochs=10,
                                               module=CNN(image_shape=(28, 28))),
                          scale=False)
    """

    _code = PYTHON
    __repr__ = BaseEstimator.__repr__

    module: Any = argument(
        kw_only=False,
        doc="""MLP, CNN, torch.nn.Module or callable
        The network: takes rows × features, returns rows × outputs. A module must have the right number of outputs; its
        layers get new random weights for every tree (`reset_parameters`). A function is called with the number of
        features and of outputs and returns a module.""",
    )
    epochs: Any = pooled(default=20, kw_only=False, rule=integer(1), doc="int\nPasses over the rows of a node.")
    batch_size: Any = pooled(default=1024, kw_only=False, rule=integer(1), doc="int\nRows per step of the optimiser.")
    lr: Any = pooled(default=0.01, kw_only=False, rule=real(0, strict=True), doc="float\nLearning rate.")
    weight_decay: Any = pooled(
        default=1e-4,
        kw_only=False,
        rule=real(0),
        doc="float\nDecay of the weights per step, times the learning rate.",
    )
    device: str = argument(
        default="auto",
        kw_only=False,
        doc="""{"auto", "cpu", "cuda"}
        Where to train; "auto" takes a GPU if there is one. A fitted model also predicts where there is none.""",
    )
    nodes_at_once: int | str = argument(
        default="auto",
        kw_only=False,
        doc="""int or "auto"
        Networks that are trained in one batched pass, of the open leaves of up to 32 trees. "auto": one on a CPU, as
        many as keep a GPU busy there, and fewer if its memory is too small.""",
    )

    def _pools(self) -> dict[str, Any]:
        require_torch()
        _DEVICE.check(self.device)
        if self.nodes_at_once != "auto" and not is_integer(self.nodes_at_once, 1):
            raise ValueError(
                f"TorchNode.nodes_at_once must be 'auto' or an integer of at least 1; got {self.nodes_at_once!r}."
            )
        if not callable(self.module):  # a torch.nn.Module is callable as well
            raise ValueError(
                "TorchNode.module must be MLP(…), CNN(…), a torch.nn.Module or a function of the numbers of features "
                f"and outputs that returns one; got {self.module!r}."
            )
        return super()._pools()

    def _with_values(self, *values: Any) -> NodeModel:
        rest = {name: getattr(self, name) for name in ("module", "device", "nodes_at_once")}
        return type(self)(**dict(zip(self._rules(), values, strict=True)), **rest)
