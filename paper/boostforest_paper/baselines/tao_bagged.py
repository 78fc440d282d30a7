"""Bagged TAO trees."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from .._product import PoolClassifier, describe_pool_forest, fill_docstring
from . import tao_docs as docs
from .pool_arguments import PoolArguments
from .tao import TAOClassifier

_POOLED = ("max_depth", "reg_alpha", "max_iter", "init", "loss")


@describe_pool_forest("classification", named=True, own=docs.PARAMETERS.format(pool=", or a pool of such", depth=8))
@fill_docstring({"notes": docs.NOTES, "references": docs.REFERENCES})
@dataclass(eq=False, repr=False)
class BaggedTAOClassifier(PoolArguments, PoolClassifier):
    """BaggedTAO-l: TAO trees with linear leaves on bootstrap replicas; the forest averages their probabilities.

    Each member is a :class:`TAOClassifier`. The BoostForest paper has 250 trees of depth 2, 4, 6 or 8, chosen on
    validation rows, and goes through the nodes ten times. Each parameter of the trees may be a pool (a sequence, or a
    distribution with `rvs`), of which every tree draws its own value.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}
    n_iter_ : ndarray of shape (n_estimators,)
        How often each tree has gone through its nodes.

    See Also
    --------
    TAOClassifier : A single tree.
    boostforest.PoolForestClassifier : Forests of any classifiers.
    boostforest.BoostForestClassifier : The forest of boosted model trees.

    Notes
    -----
    {notes}

    References
    ----------
    {references}

    Examples
    --------
    >>> from boostforest_paper.baselines import BaggedTAOClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = BaggedTAOClassifier(20, max_depth=2, oob_score=True, random_state=0).fit(X, y)
    >>> bool(forest.oob_score_ > 0.9)
    True
    """

    n_estimators: int = 250
    _: KW_ONLY
    max_depth: Any = 8
    reg_alpha: Any = 0.01
    max_iter: Any = 10
    init: Any = "cart"
    loss: Any = "log_loss"
    class_weight: Any = None

    def _declared(self) -> tuple[Any, Any, Any]:
        return TAOClassifier(), {name: getattr(self, name) for name in _POOLED}, None

    @property
    def n_iter_(self) -> npt.NDArray[np.intp]:
        """How often each tree has gone through its nodes."""
        check_is_fitted(self)
        return np.array([tree.n_iter_ for tree in self.estimators_])
