"""Model trees: decision trees whose leaves hold linear models."""

from ._show import export_text, plot_tree

__all__ = ["export_text", "plot_tree"]
