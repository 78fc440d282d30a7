"""Model trees: decision trees whose leaves hold linear models."""

from .._estimator.show import export_text
from ..plot import plot_tree
from ._lmt import LMTClassifier
from ._m5p import M5PRegressor
from ._simple_logistic import SimpleLogisticClassifier

__all__ = ["LMTClassifier", "M5PRegressor", "SimpleLogisticClassifier", "export_text", "plot_tree"]
