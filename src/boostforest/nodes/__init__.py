"""What can sit at the nodes of a tree: ``node_model=`` takes one of these, or a pool of them.

The names "constant", "ridge", "elm" and "svr" stand for the same models: in a tree with their defaults, in a forest
with the pools of the paper. Any parameter may be a pool of its own, from which every tree draws.
"""

from ._native import ELM, Constant, LinearSVR, Ridge

__all__ = ["ELM", "Constant", "LinearSVR", "Ridge"]
