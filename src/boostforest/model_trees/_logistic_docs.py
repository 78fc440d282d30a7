"""Docstrings that LMT and SimpleLogistic share, written once."""

from __future__ import annotations

import inspect
import textwrap
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_BLOCKS = {
    "iterations": """\
n_iter : int, default=None
    Number of LogitBoost iterations; None chooses it by cross-validation in five folds (Weka's ``-I``).
max_iter : int, default={max_iter}
    The largest number that is chosen.
n_iter_no_change : int, default=50
    Stop looking for the number of iterations after so many without a new minimum; 0 goes on to `max_iter`.
use_aic : bool, default=False
    Choose the number of iterations by Akaike's criterion on the training rows, without folds: faster (Weka's ``-A``).
error_on_probabilities : bool, default=False
    Cross-validate the mean absolute error of the probabilities, not the share of wrong classes (Weka's ``-P``).
""",
    "rest": """\
class_weight : dict, "balanced" or None, default=None
    Weights of the classes; they multiply `sample_weight`.
shuffle : bool, default=True
    Shuffle the rows before they are dealt into folds, class by class. False deals them in their order, as Weka does.
random_state : int, RandomState instance, Generator or None, default=None
    Seed of the shuffle. Nothing else is random.
""",
    "attributes": """\
classes_ : ndarray of shape (n_classes,)
    The class labels.
n_classes_ : int
    Number of classes.
n_iter_ : int
    LogitBoost iterations of the root's model.
tree_ : LogisticTree
    The model as NumPy columns.
feature_mean_, feature_scale_ : ndarray of shape (n_features,)
    Means and standard deviations of the training rows; the means stand for missing values.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Their names, where the training table had some.
""",
    "notes": """\
An iteration of LogitBoost fits the responses z = (y − p) / (p (1 − p)) of each class, within ±3 as in Weka, with
weights (y − p) / z, by weighted least squares on each feature in turn, and keeps the feature of the least error. With
J classes (J − 1) / J of the regressions less their mean over the classes is added.

The folds run one after another and add up their errors; a fold ends when the sum has had no new minimum for more than
`n_iter_no_change` iterations, as in Weka. Akaike's criterion counts one parameter per iteration.

Missing values (NaN) are replaced by the feature's mean over the training rows, as in Weka. All features are numbers:
encode categories as indicators first, which is what Weka does. Of features that do equally well but for rounding the
first one is taken. Weka's weight trimming (``-W``) and its choice by the training error (``-S``) are left out.
""",
    "references": """\
.. [1] N. Landwehr, M. Hall, E. Frank, "Logistic model trees", Machine Learning 59, 161-205, 2005.
.. [2] M. Sumner, E. Frank, M. Hall, "Speeding up logistic model tree induction", Knowledge Discovery in Databases:
   PKDD 2005, 675-683, 2005.
""",
}


def describe(cls: Class) -> Class:
    """Fill the blocks into the docstring of a classifier."""
    doc = cls.__doc__ or ""
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
    for name, block in _BLOCKS.items():
        text = block.replace("{max_iter}", str(defaults["max_iter"]))
        doc = doc.replace(f"    {{{name}}}\n", textwrap.indent(text, "    "))
    cls.__doc__ = doc
    return cls
