"""Networks at the nodes as tensors of a model file, and back.

A ``TorchNode`` is stored as text, ``TorchNode {…}``, JSON of its parameters; of the modules only those that the library
builds itself can be written down. Nothing here runs what a file holds: a network is arrays of known names and shapes.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._model.columns import ForestColumns
from ..nodes.torch import CNN, MLP, TorchNode
from .container import Tensors, parse_json, to_json

if TYPE_CHECKING:
    import torch

INDEX = "network"  # tensor, and the beginning of the names of the others
PREFIX = "TorchNode "  # begins the text that stands for one
_MODULES: dict[str, Any] = {"MLP": MLP, "CNN": CNN}
_NUMBERS = ("epochs", "batch_size", "lr", "weight_decay")
_WORDS = ("device", "nodes_at_once")


# ------------------------------------------------------------------------------------------------------- the TorchNode


def to_text(node: TorchNode) -> str:
    """Return a ``TorchNode`` as text; ``ValueError`` if it has something that is not a number."""
    fields: dict[str, Any] = {name: _plain(getattr(node, name)) for name in (*_NUMBERS, *_WORDS)}
    fields["module"] = None
    if _is_known(node.module):
        fields["module"] = {type(node.module).__name__: {k: _plain(v) for k, v in node.module.get_params().items()}}
    return PREFIX + to_json(fields)


def _is_known(module: Any) -> bool:
    return type(module) in _MODULES.values()


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple | range | np.ndarray):
        return [_plain(v) for v in value]
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    raise ValueError("a TorchNode has a parameter that is not a number")


def from_text(text: str, own_module: Any) -> TorchNode:
    """Return the ``TorchNode`` that a text stands for; ``own_module`` where the file cannot say what the network is."""
    fields = parse_json(text.removeprefix(PREFIX), "a TorchNode")
    # Parameters that a file does not have get their defaults: it may be older than they are.
    if not isinstance(fields, dict) or "module" not in fields or not fields.keys() <= {"module", *_NUMBERS, *_WORDS}:
        raise ValueError("a TorchNode has other parameters")
    module = fields.pop("module")
    if module is None:
        if own_module is None:
            raise ValueError(
                "its networks are of a module of your own, which a model file cannot hold: give it to load_model, "
                "node_model=TorchNode(your_module)"
            )
        return TorchNode(own_module, **_tuples(fields))
    if not isinstance(module, dict) or len(module) != 1:
        raise ValueError("the module of a TorchNode must be one of " + ", ".join(_MODULES))
    (name, arguments), *_ = module.items()
    if name not in _MODULES or not isinstance(arguments, dict):
        raise ValueError(f"the module of a TorchNode must be one of {', '.join(_MODULES)}; got {name!r}")
    try:
        known = _MODULES[name](**_tuples(arguments))
    except TypeError as error:
        raise ValueError(f"{name} has other parameters") from error
    return TorchNode(known, **_tuples(fields))


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


# -------------------------------------------------------------------------------------------------------- the networks


def encode_networks(forest: ForestColumns, node_models: Sequence[Any], dtype: str) -> Tensors:
    """Return the networks of all trees as tensors: for each node model one stack per parameter, and who has which."""
    if not forest.in_python.any():
        return {}
    index = np.full(len(forest.feature), -1, dtype=np.int64)
    tensors: Tensors = {INDEX: index}
    for number, (node_model, nodes) in enumerate(_nodes_by_model(forest, node_models)):
        if not isinstance(node_model, TorchNode):
            raise ValueError(
                f"it has {type(node_model).__name__} objects at its nodes, and a model file holds numbers only: use "
                "pickle or, where others load it, skops"
            )
        own = nodes[[forest.models[node] is not None for node in nodes]]
        index[own] = np.arange(len(own))
        networks = [forest.models[node].arrays for node in own]
        for name in networks[0]:
            tensors[f"{INDEX}.{number}.{name}"] = _shorten(np.stack([n[name] for n in networks]), dtype)
    return tensors


def own_module(node_models: Iterable[Any]) -> Any:
    """Return the module of the user's own that trees have at their nodes, None without one."""
    modules = {id(m.module): m.module for m in node_models if isinstance(m, TorchNode) and not _is_known(m.module)}
    if len(modules) > 1:
        raise ValueError("a model file can hold networks of one module of your own, not of several")
    return next(iter(modules.values()), None)


def _nodes_by_model(forest: ForestColumns, node_models: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return every node model in Python, in the order of the trees, and all nodes of its trees."""
    trees: dict[Any, list[int]] = {}
    for tree in np.flatnonzero(forest.in_python).tolist():
        model = node_models[tree]
        trees.setdefault(to_text(model) if isinstance(model, TorchNode) else id(model), []).append(tree)
    number = np.full(forest.n_trees, -1)
    for i, own in enumerate(trees.values()):
        number[own] = i
    of_node = number[forest.tree_of_node]
    order = np.argsort(of_node, kind="stable")
    bounds = np.searchsorted(of_node[order], np.arange(len(trees) + 1))
    return [(node_models[own[0]], order[bounds[i] : bounds[i + 1]]) for i, own in enumerate(trees.values())]


def _shorten(stack: Any, dtype: str) -> Any:
    if dtype != "float16" or stack.dtype.kind != "f":
        return stack
    with np.errstate(over="ignore"):
        short = stack.astype(np.float16)
    if np.isinf(short).any():
        raise ValueError("dtype='float16' holds numbers up to 65504, but a weight of a network is larger")
    return short


def decode_networks(forest: ForestColumns, node_models: Sequence[Any], tensors: Tensors) -> tuple[Any, ...]:
    """Return the model of every node, after all checks; empty if no tree has models in Python."""
    if not forest.in_python.any():
        if tensors:
            raise ValueError("networks have no place in trees without a TorchNode")
        return ()
    index = tensors.pop(INDEX, None)
    if index is None:
        raise ValueError(f"tensors are missing: {INDEX}")
    inner_root = np.isin(np.arange(len(index)), forest.tree_start[:-1]) & (forest.feature >= 0)
    expected = forest.in_python[forest.tree_of_node] & ~inner_root
    if ((index >= 0) != expected).any():
        raise ValueError("every node of a tree with networks must have one, except a root that is split")
    models: list[Any] = [None] * len(index)
    by_model = _by_model(tensors)
    for number, (node_model, nodes) in enumerate(_nodes_by_model(forest, node_models)):
        stacks = by_model.pop(str(number), {})
        own = nodes[index[nodes] >= 0]
        networks = _split(stacks, _form(node_model, stacks, forest), len(own))
        if not np.array_equal(np.sort(index[own]), np.arange(len(own))):
            raise ValueError(f"tensor {INDEX!r} must name every network once")
        for node in own:
            models[node] = networks[index[node]]
    if by_model:
        unknown = sorted(f"{INDEX}.{number}.{name}" for number, stacks in by_model.items() for name in stacks)
        raise ValueError(f"tensors are unknown: {', '.join(unknown)}")
    return tuple(models)


def _by_model(tensors: Tensors) -> dict[str, Tensors]:
    """Return the tensors of each node model, by what is between the first two dots of their names."""
    by_model: dict[str, Tensors] = {}
    for name, tensor in tensors.items():
        number, _, own = name.removeprefix(f"{INDEX}.").partition(".")
        by_model.setdefault(number, {})[own] = tensor
    return by_model


def _form(node_model: Any, stacks: Tensors, forest: ForestColumns) -> dict[str, torch.Tensor]:
    """Return the tensors that a network must have, without memory for them."""
    import torch

    from ..nodes._torch_stack import named_tensors

    if not isinstance(node_model, TorchNode):
        raise ValueError("only networks can be in a model file")
    module = node_model.module
    if _is_known(module):
        widths = module.hidden if isinstance(module, MLP) else module.channels
        if isinstance(widths, tuple) and len(widths) > len(stacks):  # before it builds them all
            raise ValueError("a network has more layers than there are tensors")
    if not isinstance(module, torch.nn.Module):
        try:
            with torch.device("meta"):
                module = module(len(forest.seen_features), forest.n_outputs)
        except RuntimeError as error:
            raise ValueError("its networks are impossibly large") from error
    return named_tensors(module)


def _split(stacks: Tensors, form: dict[str, torch.Tensor], n: int) -> list[Any]:
    """Return the networks of a stack, checked."""
    from ..nodes._torch import Network

    if stacks.keys() != form.keys():
        wrong = ", ".join(sorted(stacks.keys() ^ form.keys()))
        raise ValueError(f"tensors of networks are missing or unknown: {wrong}")
    checked: Tensors = {}
    for name, stack in stacks.items():
        shape = (n, *form[name].shape)
        floating = form[name].is_floating_point()
        right = stack.dtype in (np.float32, np.float16) if floating else stack.dtype == np.int64
        if stack.shape != shape or not right:
            what = f"{stack.dtype} of shape {stack.shape}"
            raise ValueError(
                f"tensor {name!r} of {n} networks must have the shape {shape} and a type that fits; got {what}"
            )
        if not np.isfinite(stack).all():
            raise ValueError(f"tensor {name!r} of a network has values that are not finite")
        checked[name] = stack.astype(np.float32, copy=False) if floating else stack
    return [Network({name: stack[i] for name, stack in checked.items()}) for i in range(n)]
