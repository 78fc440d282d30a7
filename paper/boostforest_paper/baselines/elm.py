"""Extreme learning machines: ridge regression on one hidden layer of random units."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import is_regressor
from sklearn.linear_model import Ridge
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._product import Floats, check_sample_weight, entropy_of, fill_docstring, mean_and_deviation
from .base import DOCS, Baseline
from .boosting import stream_of
from .checks import check_integer, check_real
from .predicting import NumbersMixin, ScoresMixin

_LARGEST_BIAS = 2.0
_ROUNDING = 1e-12  # standard deviations below this count as 0


_DOCS = DOCS | {
    "parameters": """\
n_hidden : int, default=20
    Hidden units.
reg_lambda : float, default=0.1
    Penalty on the squared output weights, above 0.
random_state : int, RandomState instance, Generator or None, default=None
    Seed of the hidden layer.
""",
    "layer": """\
hidden_weights_ : ndarray of shape (n_features, n_hidden)
    Weights of the hidden units.
hidden_bias_ : ndarray of shape (n_hidden,)
    Their biases.
""",
}


@dataclass(eq=False, repr=False)
class _ExtremeLearningMachine(Baseline):
    """The hidden layer and the regression on it."""

    n_hidden: int = 20
    _: KW_ONLY
    reg_lambda: float = 0.1
    random_state: Any = None

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        check_integer("n_hidden", self.n_hidden, 1)
        check_real("reg_lambda", self.reg_lambda, 0, strict=True)
        rng = stream_of(entropy_of(self.random_state))
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=is_regressor(self))
        weight = check_sample_weight(sample_weight, len(y))
        target = self._encode(y)
        self._draw_layer(X, weight, rng)
        ridge = Ridge(alpha=self.reg_lambda, solver="cholesky").fit(self._units(X), target, sample_weight=weight)
        self.coef_ = np.ascontiguousarray(np.atleast_2d(ridge.coef_).T)
        self.intercept_ = np.atleast_1d(ridge.intercept_)

    def _encode(self, y: Any) -> Floats:
        """Return what the regression is fitted to."""
        return np.asarray(y, dtype=np.float64)

    def _draw_layer(self, X: Floats, weight: Floats | None, rng: np.random.Generator) -> None:
        mean, deviation = mean_and_deviation(X, weight)
        weights = rng.uniform(-1, 1, size=(X.shape[1], self.n_hidden)) / deviation[:, None]
        bias = rng.uniform(-_LARGEST_BIAS, _LARGEST_BIAS, size=self.n_hidden)
        spread = np.sqrt(np.average(((X - mean) @ weights) ** 2, axis=0, weights=weight))
        self.hidden_weights_ = weights * np.where(spread > _ROUNDING, 1 / np.maximum(spread, _ROUNDING), 0.0)
        self.hidden_bias_ = bias - mean @ self.hidden_weights_

    def _units(self, X: Floats) -> Floats:
        units: Floats = expit(X @ self.hidden_weights_ + self.hidden_bias_)
        return units

    def _outputs(self, X: Any) -> Floats:
        """Return rows × outputs."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        outputs: Floats = self._units(X) @ self.coef_ + self.intercept_
        return outputs


@fill_docstring(_DOCS)
class ELMRegressor(NumbersMixin, _ExtremeLearningMachine):
    """Extreme learning machine for regression: ridge regression on one hidden layer of random sigmoid units.

    Minimises ``Σ w (b·s(x) + c - y)² + reg_lambda |b|²`` over the output weights b and c; the units
    ``s_k(x) = 1 / (1 + exp(-(v_k·x + d_k)))`` are random and stay as they are [1]_.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {layer}
    coef_ : ndarray of shape (n_hidden, 1)
        Output weights.
    intercept_ : ndarray of shape (1,)
        Their intercept.
    {features}

    See Also
    --------
    boostforest.nodes.ELM : The same at the nodes of a BoostTree.

    Notes
    -----
    Differences from [1]_: the random weights (from [-1, 1], for standardised features) are divided so that every
    ``v·x`` has mean 0 and standard deviation 1 over the training rows, and the biases come from [-2, 2], so that all
    units bend within the data; ridge instead of least squares. BoostForest's ELM nodes do the same.

    References
    ----------
    .. [1] G.-B. Huang, Q.-Y. Zhu, C.-K. Siew, "Extreme learning machine: theory and applications", Neurocomputing,
       2006.

    Examples
    --------
    >>> from boostforest_paper.baselines import ELMRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(ELMRegressor(random_state=0).fit(X, y).score(X, y) > 0.4)
    True
    """

    def _values(self, X: Any) -> Floats:
        return self._outputs(X)[:, 0]


@fill_docstring(_DOCS)
class ELMClassifier(ScoresMixin, _ExtremeLearningMachine):
    """Extreme learning machine for classification: ridge regression of the labels on random sigmoid units.

    Minimises ``Σ w |B·s(x) + c - t|² + reg_lambda |B|²`` over the output weights B and c, where t is -1 or 1 for two
    classes, and has a 1 for its own class and -1 for the others if there are more [1]_. The hidden units s are random,
    as in `ELMRegressor`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {layer}
    coef_ : ndarray of shape (n_hidden, 1) or (n_hidden, n_classes)
        Output weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Their intercepts.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    {features}

    Notes
    -----
    There are no probabilities: least squares does not give any, as with scikit-learn's ``RidgeClassifier``. Differences
    as in `ELMRegressor`.

    References
    ----------
    .. [1] G.-B. Huang, H. Zhou, X. Ding, R. Zhang, "Extreme learning machine for regression and multiclass
       classification", IEEE Transactions on Systems, Man, and Cybernetics B, 2012.

    Examples
    --------
    >>> from boostforest_paper.baselines import ELMClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(ELMClassifier(random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    def _encode(self, y: Any) -> Floats:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("y contains 1 class, while a minimum of 2 classes are required.")
        targets = np.where(codes.reshape(-1, 1) == np.arange(len(self.classes_)), 1.0, -1.0)
        return targets[:, 1] if len(self.classes_) == 2 else targets

    def _final_score(self, X: Any) -> Floats:
        outputs = self._outputs(X)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs
