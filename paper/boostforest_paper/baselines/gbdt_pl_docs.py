"""What the docstrings of the GBDT-PL estimators share."""

from .base import DOCS

PARAMETERS = """\
n_estimators : int, default=100
    Rounds of boosting: trees, or trees per class if there are more than two.
learning_rate : float, default=0.1
    What of a tree's prediction is added.
max_leaf_nodes : int, default=31
    Leaves per tree at the most. With 1 every tree is a linear model (see Notes).
max_depth : int or None, default=None
    Splits on the path to a leaf at the most.
max_var : int, default=5
    Features in the linear model of a leaf at the most; 0: all leaves are constant, as in other boosters.
max_bins : int, default=255
    Bins per feature at the most, up to 256.
reg_lambda : float, default=0.01
    L2 penalty of the coefficients of a leaf, its intercept included. It refers to features of standard deviation 1.
reg_alpha : float, default=0.0
    L1 penalty, likewise.
min_child_weight : float, default=0.001
    Least sum of the second derivatives of the loss in a leaf; of the weights, for squared error.
min_samples_leaf : int, default=20
    Least number of rows in a leaf; a row counts its `sample_weight`.
n_jobs : int or None, default=None
    Threads; None is 1 unless a joblib context says otherwise, -1 all cores. The trees do not depend on it.
"""

ATTRIBUTES = """\
trees_ : PiecewiseTrees
    All trees as flat NumPy columns.
n_estimators_ : int
    Number of rounds.
base_score_ : ndarray of shape (n_outputs,)
    What the scores start from: {base}.
feature_importances_ : ndarray of shape (n_features_in_,)
    Share of each feature in the loss that the splits take away; all 0 without a split.
feature_mean_, feature_scale_ : ndarray of shape (n_features_in_,)
    Means and standard deviations of the training rows: trees see features scaled by them.
"""

NOTES = """\
*Objective.* Every round adds a tree f that minimises Σ w (g f(x) + ½ h f(x)²) + Σ over leaves of (½ λ ‖k‖² + α ‖k‖₁),
where g and h are the first two derivatives of the loss at the scores so far ({loss})
and k the intercept and slopes of a leaf; ``learning_rate`` times f is added to the scores.

*Growth.* The leaf whose best split takes most off the objective is split first. Thresholds lie between the bins of a
feature. Each side of a split has a model k₀ + k₁ p + k₂ x: p is the linear part of the node's own model, x the split
feature, which is left out if the model has it already or has ``max_var`` features (the half-additive fit of [1]_). So a
leaf's features are those split on above it. In histograms a value is the mean of its bin. In the end all coefficients
of a leaf are fitted anew, to the values themselves.

*Differences* from the paper and its code: features are standardised first, so that the penalties do not depend on their
units. The L1 penalty is a real one (the code adds it to the loss of a split, but not to the fit). Leaf models are
fitted to the values, where the code takes the means of their bins and predicts with the values. {start}
The code grows a constant for a tree without a split; here it is a linear model, whose features come in one after
another, the best one first. A side of a split has at least ``min_samples_leaf`` rows, too. Common values have bins of
their own. There is no sampling of rows (GOSS) and no level-wise growth.

Missing values are refused: a linear model has no use for them. Impute first.
"""

REFERENCE = """\
.. [1] Y. Shi, J. Li, Z. Li, "Gradient boosting with piece-wise linear regression trees", Proceedings of the 28th
   International Joint Conference on Artificial Intelligence, 3432-3438, 2019.
"""


BODY = f"""\
Parameters
----------
{PARAMETERS}
Attributes
----------
{{classes}}{ATTRIBUTES}{DOCS["features"]}
See Also
--------
{{see_also}}

Notes
-----
{NOTES}
References
----------
{REFERENCE}"""


def body(see_also: str, base: str, loss: str, start: str, classes: str = "") -> dict[str, str]:
    """Return all of a docstring between summary and examples: what scores start from, and what is minimised."""
    return {"body": BODY.format(see_also=see_also, base=base, loss=loss, start=start, classes=classes)}
