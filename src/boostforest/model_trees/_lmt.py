"""LMT: a decision tree with logistic models at its leaves."""

from typing import Any

import numpy as np

from .._base.declare import BOOL, argument, declared, integer
from .._base.typing import Floats, Ints
from ._logistic import LogisticTreeClassifier
from ._model_tree import GrownTreeMixin


@declared
class LMTClassifier(LogisticTreeClassifier, GrownTreeMixin):
    """Logistic model tree: a decision tree with a logistic regression at every leaf.

    The tree is grown with C4.5's splits. Every node has a LogitBoost model (see `SimpleLogisticClassifier`) that
    continues the one of its parent on the node's own rows. Then the tree is pruned by CART's cost-complexity pruning,
    often to a single logistic model, or to few leaves.

    It follows Landwehr, Hall and Frank [1]_ with the shortcut of Sumner, Frank and Hall [2]_, and Weka's LMT in what
    they leave open: with ``shuffle=False``, on rows sorted by class, it gives Weka's tree and Weka's probabilities,
    unless a choice depends on rounding.

    {parameters}

    {attributes}

    See Also
    --------
    SimpleLogisticClassifier : The model of a node.
    export_text : The tree and its models as text.
    plot_tree : The same as a picture.
    boostforest.BoostTreeClassifier : A tree of ridge models grown by boosting.

    Notes
    -----
    *Splits.* The split on a feature with the highest information gain, less log2(number of thresholds) / n; then, among
    the features whose gain is at least the average one, that of the highest gain ratio. The threshold is the largest
    value of the training table on the left side. All splits have two sides (Weka's ``-B``): all features are numbers.

    *Models.* A node's iterations start from the model of its parent; see `SimpleLogisticClassifier` for an iteration.
    Nodes of fewer than 5 rows keep the model of their parent.

    *Pruning.* Five trees, each on four fifths of the rows, tell how well the tree would do at each stage of its
    pruning; the stage of the least error is taken, of equally good ones the smallest tree (but as in Weka, errors are
    sums of fractions, and rounding may keep them from being equal). Splits that do not lower the training error are
    taken out in any case.

    *Differences from Weka.* Splits on residuals (``-R``), weight trimming (``-W``) and splits on categories with more
    than two sides are left out. Two values of a feature are different if they differ at all; for Weka's C4.5 they must
    differ by 1e-5. With ``fast_regression=False`` the rows of a node are dealt into folds in the order of the table; in
    Weka that order depends on the last sort of the split search. Weka has no unpruned trees.

    {references}

    Examples
    --------
    >>> import numpy as np
    >>> from boostforest.model_trees import LMTClassifier, export_text
    >>> rng = np.random.default_rng(1)
    >>> age, dose = rng.integers(20, 80, 400), rng.uniform(0, 10, 400)
    >>> helps = np.where(age < 45, dose - 1, 4 - dose) + rng.logistic(size=400) > 0
    >>> tree = LMTClassifier(random_state=0).fit(np.column_stack([age, dose]), helps)
    >>> print(export_text(tree, feature_names=["age", "dose"], digits=2))
    age <= 44: LM1 (157 rows, 8 iterations, error 12.7 %)
    age > 44: LM2 (243 rows, 8 iterations, error 15.2 %)
    <BLANKLINE>
    LM1: log-odds of True = -1.5
      + 0.024 * age
      + 0.76 * dose
    <BLANKLINE>
    LM2: log-odds of True = 4
      - 0.0057 * age
      - 0.88 * dose
    """

    _words = LogisticTreeClassifier._words | {"what_splits_gain": "the information gain of the splits"}

    min_samples_split: int = argument(
        default=16,
        rule=integer(2),
        doc="""int
        Rows that a node needs to be split (a row counts its weight). Weka's ``-M 15`` splits nodes of more than 15.""",
    )
    min_samples_leaf: int = argument(
        default=2,
        rule=integer(1),
        doc="""int
        Rows that each side of a split needs. C4.5 asks for a tenth of the node's rows per class as well, but never for
        more than 25.""",
    )
    prune: bool = argument(
        default=True,
        rule=BOOL,
        doc="""bool
        Prune the tree. Unpruned trees are large: for a forest, not for reading.""",
    )
    fast_regression: bool = argument(
        default=True,
        rule=BOOL,
        doc="""bool
        Choose the number of iterations once, for the root, and use it at every node; False, Weka's ``-C``, chooses it
        anew at every node and takes many times as long.""",
    )

    def _tree_rules(self) -> dict[str, Any]:
        return {
            "split": True,
            "prune": bool(self.prune),
            "choose_at_every_node": not self.fast_regression,
            "min_split": float(self.min_samples_split),
            "min_leaf": float(self.min_samples_leaf),
        }

    def _needs_folds(self) -> bool:
        return self.prune or super()._needs_folds()

    def _leaves(self, X: Floats) -> Ints:
        leaves: Ints = np.empty(len(X), dtype=np.int32)
        self._core_tree().apply(X, leaves)
        return leaves
