"""The other ensembles of the BoostForest paper, as scikit-learn estimators."""

from ._gbdt_pl import GBDTPLClassifier, GBDTPLRegressor

__all__ = ["GBDTPLClassifier", "GBDTPLRegressor"]
