"""Bagged TAO trees."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._product import Indices, PoolClassifier, argument, arguments_of, declared
from .tao import TAOClassifier
from .tao_docs import WORDS, TAOArguments


@declared
class BaggedTAOClassifier(PoolClassifier, TAOArguments):
    """BaggedTAO-l: TAO trees with linear leaves on bootstrap replicas; the forest averages their probabilities.

    Each member is a :class:`TAOClassifier`. The BoostForest paper has 250 trees of depth 2, 4, 6 or 8, chosen on
    validation rows, and goes through the nodes ten times. Each parameter of the trees may be a pool (a sequence, or a
    distribution with `rvs`), of which every tree draws its own value.

    {parameters}

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

    _words = WORDS | {"pool": ", or a pool of such"}
    max_depth: Any = argument(default=8)

    def _declared(self) -> tuple[Any, Any, Any]:
        return TAOClassifier(), {name: getattr(self, name) for name in arguments_of(TAOArguments)}, None

    @property
    def n_iter_(self) -> Indices:
        """How often each tree has gone through its nodes."""
        check_is_fitted(self)
        return np.array([tree.n_iter_ for tree in self.estimators_])
