"""Benchmarks: the paper's experiments (``python -m benchmarks``) and speed (``python -m benchmarks.speed``)."""
