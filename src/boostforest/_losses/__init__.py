"""What a forest minimises, one class for each loss."""

from .cross_entropy import CrossEntropy, Logistic, Softmax
from .loss import Loss, OutOfBag
from .squared_error import SquaredError

LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (SquaredError, Logistic, Softmax)}

__all__ = ["LOSSES", "CrossEntropy", "Logistic", "Loss", "OutOfBag", "Softmax", "SquaredError"]
