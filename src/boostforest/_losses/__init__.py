"""What a forest minimises, one class for each loss."""

from .aft import AcceleratedFailureTime
from .cross_entropy import CrossEntropy, Logistic, Softmax
from .log_link import Gamma, Poisson, Tweedie
from .loss import Loss, OutOfBag
from .own import OwnLoss
from .regression import RegressionLoss
from .robust import AbsoluteError, Huber, Quantile
from .several import ClassTargets, Several, SquaredErrors
from .squared_error import SquaredError

#: The losses of regressors, by the names that the argument ``loss`` and model files have for them.
REGRESSION_LOSSES: dict[str, type[RegressionLoss]] = {
    loss.name: loss
    for loss in (SquaredError, Huber, AbsoluteError, Quantile, Poisson, Gamma, Tweedie, AcceleratedFailureTime)
}

__all__ = [
    "REGRESSION_LOSSES",
    "AbsoluteError",
    "AcceleratedFailureTime",
    "ClassTargets",
    "CrossEntropy",
    "Gamma",
    "Huber",
    "Logistic",
    "Loss",
    "OutOfBag",
    "OwnLoss",
    "Poisson",
    "Quantile",
    "RegressionLoss",
    "Several",
    "Softmax",
    "SquaredError",
    "SquaredErrors",
    "Tweedie",
]
