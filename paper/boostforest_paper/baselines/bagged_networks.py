"""Bagged networks: PyTorch networks on bootstrap replicas, many of them trained as one on a GPU."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import softmax

from .._product import Array, Floats, fill_docstring, find_classes, mean_and_deviation
from .bagged_networks_base import NETWORK_DOCS, BaggedNetworks
from .predicting import StagedNumbersMixin, StagedProbabilitiesMixin


@fill_docstring(NETWORK_DOCS)
class BaggedNetworksClassifier(StagedProbabilitiesMixin, BaggedNetworks):
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
    {networks}
    {classes}
    {features}

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

    _task = "classification"

    def _encode(self, y: Array, weight: Floats | None) -> Floats:
        self.classes_ = find_classes(y, None)
        self.n_classes_ = len(self.classes_)
        codes = np.searchsorted(self.classes_, y)
        one_hot: Floats = (codes == np.arange(self.n_classes_)[:, None]).astype(np.float64)
        return one_hot

    def _stages(self, X: Any) -> Iterator[Floats]:
        """Yield the mean of the probabilities of the first 1, 2, … networks."""
        total: Any = 0.0
        for i, scores in enumerate(self._outputs(X), 1):
            total = total + softmax(scores, axis=1)
            yield total / i


@fill_docstring(NETWORK_DOCS)
class BaggedNetworksRegressor(StagedNumbersMixin, BaggedNetworks):
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
    {networks}
    {features}

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

    def _encode(self, y: Array, weight: Floats | None) -> Floats:
        y = np.asarray(y, dtype=np.float64)
        mean, deviation = mean_and_deviation(y[:, None], weight)
        self._target_mean, self._target_scale = float(mean[0]), float(deviation[0])
        scaled: Floats = (y[None] - self._target_mean) / self._target_scale
        return scaled

    def _staged_values(self, X: Any) -> Iterator[Floats]:
        """Yield the mean of the predictions of the first 1, 2, … networks."""
        total: Any = 0.0
        for i, outputs in enumerate(self._outputs(X), 1):
            total = total + outputs[:, 0]
            yield total / i * self._target_scale + self._target_mean
