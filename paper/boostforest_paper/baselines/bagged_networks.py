"""Bagged networks: PyTorch networks on bootstrap replicas, many of them trained as one on a GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import RegressorMixin

from .._product import LabelsMixin, fill_docstring, find_classes, mean_and_deviation, on_snapshot
from .bagged_networks_base import PARAMETERS, BaggedNetworks

Floats = npt.NDArray[np.float64]


@fill_docstring({"parameters": PARAMETERS})
class BaggedNetworksClassifier(LabelsMixin, BaggedNetworks):
    """Bagging-CNN, Bagging-DNN: networks for classification on bootstrap replicas, the mean of their probabilities.

    Each network minimises the cross-entropy of its replica by AdamW, from random weights of its own. On a GPU many are
    trained in one batched pass. The defaults are the paper's: 100 networks, 150 epochs [1]_. Needs PyTorch:
    ``pip install "boostforest[torch]"``.

    Parameters
    ----------
    module : MLP, CNN, torch.nn.Module or callable, default=None
        The network: takes rows × features, returns rows × classes, the arguments of a softmax. `MLP` and `CNN` are in
        `boostforest.nodes.torch`. The layers of a module get new random weights for every member
        (`reset_parameters`). A function is called with the number of features and of classes and returns a module.
        None: ``MLP()``, the paper's for HIGGS.
    {parameters}

    Attributes
    ----------
    networks_ : list of Network
        The networks: `arrays` holds their parameters by name.
    network_seeds_ : ndarray of shape (n_estimators,)
        Seed of each network.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training table had any.

    See Also
    --------
    boostforest.nodes.torch.TorchNode : Networks at the nodes of a BoostForest.

    References
    ----------
    .. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
       learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.

    Examples
    --------
    >>> from boostforest_paper.baselines import BaggedNetworksClassifier
    >>> from boostforest.nodes.torch import CNN, MLP
    >>> BaggedNetworksClassifier(MLP(hidden=(64, 64)), 20, epochs=50)
    BaggedNetworksClassifier(epochs=50, module=MLP(hidden=(64, 64)),
                             n_estimators=20)
    >>> BaggedNetworksClassifier(CNN((28, 28)), 6300, epochs=3, scale=False)  # Bagging-CNN_3 of the paper
    BaggedNetworksClassifier(epochs=3, module=CNN(image_shape=(28, 28)),
                             n_estimators=6300, scale=False)
    """

    def _encode(self, y: npt.NDArray[Any], weight: Floats | None) -> Floats:
        self.classes_ = find_classes(y, None)
        self.n_classes_ = len(self.classes_)
        codes = np.searchsorted(self.classes_, y)
        one_hot: Floats = (codes == np.arange(self.n_classes_)[:, None]).astype(np.float64)
        return one_hot

    @on_snapshot
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Mean of the networks' probabilities, classes in the order of ``classes_``.
        """
        return deque(self.staged_predict_proba(X), maxlen=1).pop()

    @on_snapshot
    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Predict probabilities with the first network, the first two, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities of the networks so far.
        """
        total: Any = 0.0
        for i, scores in enumerate(self._outputs(X), 1):
            total = total + softmax(scores, axis=1)
            yield total / i

    @on_snapshot
    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Predict with the first network, the first two, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Classes predicted by the networks so far.
        """
        for p in self.staged_predict_proba(X):
            yield self.classes_[p.argmax(axis=1)]


@fill_docstring({"parameters": PARAMETERS})
class BaggedNetworksRegressor(RegressorMixin, BaggedNetworks):
    """Networks for regression on bootstrap replicas, the mean of their predictions.

    Each network minimises the squared error on its replica by AdamW, from random weights of its own; the target is
    standardised meanwhile. All else is as in `BaggedNetworksClassifier`. Needs PyTorch:
    ``pip install "boostforest[torch]"``.

    Parameters
    ----------
    module : MLP, CNN, torch.nn.Module or callable, default=None
        The network: takes rows × features, returns rows × 1. `MLP` and `CNN` are in `boostforest.nodes.torch`. The
        layers of a module get new random weights for every member (`reset_parameters`). A function is called with the
        number of features and 1 and returns a module. None: ``MLP()``.
    {parameters}

    Attributes
    ----------
    networks_ : list of Network
        The networks: `arrays` holds their parameters by name.
    network_seeds_ : ndarray of shape (n_estimators,)
        Seed of each network.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the training table had any.

    See Also
    --------
    BaggedNetworksClassifier : The same for classes.

    Examples
    --------
    >>> from boostforest_paper.baselines import BaggedNetworksRegressor
    >>> from boostforest.nodes.torch import MLP
    >>> BaggedNetworksRegressor(MLP(hidden=(64, 64)), 20, epochs=50)
    BaggedNetworksRegressor(epochs=50, module=MLP(hidden=(64, 64)), n_estimators=20)
    """

    _task = "regression"

    _target_mean: float
    _target_scale: float

    def _encode(self, y: npt.NDArray[Any], weight: Floats | None) -> Floats:
        y = np.asarray(y, dtype=np.float64)
        mean, deviation = mean_and_deviation(y[:, None], weight)
        self._target_mean, self._target_scale = float(mean[0]), float(deviation[0])
        scaled: Floats = (y[None] - self._target_mean) / self._target_scale
        return scaled

    @on_snapshot
    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """Predict with the first network, the first two, and so on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Mean of the predictions of the networks so far.
        """
        total: Any = 0.0
        for i, outputs in enumerate(self._outputs(X), 1):
            total = total + outputs[:, 0]
            yield total / i * self._target_scale + self._target_mean

    @on_snapshot
    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of the training table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Mean of the networks' predictions.
        """
        return deque(self.staged_predict(X), maxlen=1).pop()
