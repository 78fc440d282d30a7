"""What is not collected where an optional package is missing."""

import importlib.util

# Doctests are collected from every module, and these import PyTorch.
collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["src/boostforest/nodes/_torch*.py"]
