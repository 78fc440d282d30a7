"""What a forest minimises, one class for each loss."""

from .cross_entropy import CrossEntropy, Logistic, Softmax
from .loss import Loss, OutOfBag
from .squared_error import SquaredError

__all__ = ["CrossEntropy", "Logistic", "Loss", "OutOfBag", "Softmax", "SquaredError"]
