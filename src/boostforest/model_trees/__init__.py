"""Model trees: decision trees whose leaves hold linear models."""

from ._m5p import M5PRegressor
from ._show import export_text, plot_tree

__all__ = ["M5PRegressor", "export_text", "plot_tree"]
