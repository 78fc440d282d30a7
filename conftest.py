"""What is not collected where an optional package is missing."""

import importlib.util

# Doctests are collected from every module, and these import PyTorch.
need_torch = ["src/boostforest/nodes/_torch*.py", "src/boostforest/baselines/_network_bags.py"]
collect_ignore_glob = [] if importlib.util.find_spec("torch") else need_torch
