"""Benchmarks of boostforest: the paper's protocol and speed. Run each with ``python -m benchmarks.NAME``."""
