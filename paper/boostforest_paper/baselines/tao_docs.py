"""What the TAO estimators share: arguments and docstrings."""

from typing import Any

from .._product import argument, declared


@declared
class TAOArguments:
    """How a tree is found; in a forest each of them may be a pool."""

    max_depth: Any = argument(
        default=4,
        doc="""int{pool}
        Splits on the path to a leaf at the most. The tree never gets deeper than it starts.""",
    )
    reg_alpha: Any = argument(
        default=0.01,
        doc="""float{pool}
        L1 penalty of all slopes, of decisions and of leaves; intercepts are free. It refers to features of standard
        deviation 1.""",
    )
    max_iter: Any = argument(
        default=10,
        doc="""int{pool}
        Times to go through all nodes at the most; it ends earlier when the objective falls by less than 0.01 %.""",
    )
    init: Any = argument(
        default="cart",
        doc="""{"cart", "random"}{pool}
        What to start from: CART's tree, or a complete tree of random directions, split in the middle of their rows.""",
    )
    loss: Any = argument(
        default="log_loss",
        doc="""{"log_loss", "zero_one"}{pool}
        Loss of a row at its leaf: cross-entropy, or 1 if the leaf is wrong.""",
    )


NOTES = """\
*Objective.* Σ w · loss(y, model of the leaf that x falls into) + ``reg_alpha`` · (sum of the sizes of all slopes), over
the hyperplanes of the decision nodes and the linear models of the leaves.

*Alternating optimisation.* Nodes are updated one after another, the deepest first, the others fixed. A leaf is a
logistic regression on its rows. A decision node is one, too: for each of its rows, both subtrees are asked for their
loss; rows with the same loss on either side do not care, the others are labelled by the better side and weighted by the
difference. All rows to one side is tried as well. An update is kept only if it takes something off the objective, which
so never rises. In the end, parts that no training row reaches are cut off.

*Differences.* The papers [1]_ [2]_ leave loss and penalty open; the logistic regressions here are penalised like the
objective, and solved by Newton's method with coordinate descent. Keeping only what lowers the objective is what their
proof of monotone decrease asks for. Features are standardised first. The BoostForest paper starts from thresholds at
deciles on its two large sets, to save time; here CART looks at all of them.

Missing values are refused: a hyperplane has no use for them. Impute first.
"""

REFERENCES = """\
.. [1] M. Á. Carreira-Perpiñán, P. Tavallali, "Alternating optimization of decision trees, with application to learning
   sparse oblique trees", Advances in Neural Information Processing Systems 31, 2018.
.. [2] M. Á. Carreira-Perpiñán, A. Zharmagambetov, "Ensembles of bagged TAO trees consistently improve over random
   forests, AdaBoost and gradient boosting", ACM-IMS Foundations of Data Science Conference, 35-46, 2020.
"""

WORDS = {"notes": NOTES, "references": REFERENCES, "pool": ""}
