"""What bagged networks share: arguments, fitting, the outputs of all networks."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from boostforest.nodes.torch import MLP, TorchNode, require_torch

from .._product import (
    Array,
    Floats,
    Sampling,
    Seeds,
    check_sample_weight,
    entropy_of,
    mean_and_deviation,
    n_bootstrap_draws,
    n_threads,
    tree_seeds,
)
from .base import DOCS, Baseline
from .checks import check_choice, check_integer, check_real

NETWORK_DOCS = DOCS | {
    "parameters": """\
n_estimators : int, default=100
    Number of networks.
epochs : int, default=150
    Passes over the rows of a replica.
batch_size : int, default=1024
    Rows per step of the optimiser.
lr : float, default=0.01
    Learning rate.
weight_decay : float, default=1e-4
    Decay of the weights per step, times the learning rate.
scale : bool, default=True
    Divide the features by their standard deviation, after subtracting their mean. Turn it off for pixels.
bootstrap : bool, default=True
    Train each network on rows drawn with replacement, with probabilities in proportion to their weights; otherwise on
    all rows, where the weights multiply the loss.
max_samples : int, float or None, default=None
    Rows to draw for each network: their number, or a share of all. None: as many as there are.
device : {"auto", "cpu", "cuda"}, default="auto"
    Where to train; "auto" takes a GPU if there is one. A fitted model also predicts where there is none.
networks_at_once : int or "auto", default="auto"
    Networks that are trained in one batched pass. "auto": one on a CPU, as many as keep a GPU busy there.
n_jobs : int or None, default=None
    Processes that train on a CPU; None is 1 unless a joblib context says otherwise, -1 all cores.
random_state : int, RandomState instance, Generator or None, default=None
    Seed. On a CPU the same seed gives the same networks, for any `n_jobs`; on a GPU the same to rounding, which
    training magnifies.
""",
    "networks": """\
networks_ : list of Network
    The networks: `arrays` holds their parameters by name.
network_seeds_ : ndarray of shape (n_estimators,)
    Seed of each network.
""",
}


@dataclass(eq=False, repr=False)
class BaggedNetworks(Baseline):
    """Arguments, fitting and outputs of bagged networks."""

    _task: ClassVar[str]

    module: Any = None
    n_estimators: int = 100
    _: KW_ONLY
    epochs: int = 150
    batch_size: int = 1024
    lr: float = 0.01
    weight_decay: float = 1e-4
    scale: bool = True
    bootstrap: bool = True
    max_samples: Any = None
    device: str = "auto"
    networks_at_once: int | str = "auto"
    n_jobs: int | None = None
    random_state: Any = None

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        node = self._training()
        seeds = tree_seeds(entropy_of(self.random_state), int(self.n_estimators))
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=self._task == "regression")
        weight = check_sample_weight(sample_weight, len(y))
        targets = self._encode(y, weight)
        self._n_outputs = len(targets)
        self.feature_mean_, self.feature_scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.scale:
            self.feature_mean_, self.feature_scale_ = mean_and_deviation(X, weight)
        self._train(node, (X - self.feature_mean_) / self.feature_scale_, targets, weight, seeds)

    def _train(self, node: TorchNode, table: Floats, targets: Floats, weight: Floats | None, seeds: Seeds) -> None:
        from .network_bags import train_networks

        sampling = Sampling(weight=weight)
        if self.bootstrap:
            n_draws = n_bootstrap_draws(self.max_samples, len(table))
            sampling = Sampling(True, n_draws, None if weight is None else np.cumsum(weight))
        self.networks_ = train_networks(node, table, targets, self._task, sampling, seeds, self.n_jobs)
        self.network_seeds_ = seeds

    def _training(self) -> TorchNode:
        """Check the arguments and return what says how a network is trained."""
        require_torch()
        for name in ("n_estimators", "epochs", "batch_size"):
            check_integer(name, getattr(self, name), 1)
        check_real("lr", self.lr, 0, strict=True)
        check_real("weight_decay", self.weight_decay, 0)
        check_choice("device", self.device, ("auto", "cpu", "cuda"))
        if self.networks_at_once != "auto":
            check_integer("networks_at_once", self.networks_at_once, 1)
        for name in ("scale", "bootstrap"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}.")
        if not self.bootstrap and self.max_samples is not None:
            raise ValueError("max_samples needs bootstrap=True; set it to None or bootstrap to True.")
        module = MLP() if self.module is None else self.module
        if not callable(module):  # a torch.nn.Module is callable as well
            raise ValueError(
                "module must be MLP(…), CNN(…), a torch.nn.Module or a function of the numbers of features and outputs "
                f"that returns one; got {self.module!r}."
            )
        n_threads(self.n_jobs)
        steps = (self.epochs, self.batch_size, self.lr, self.weight_decay)
        return TorchNode(module, *steps, self.device, self.networks_at_once)

    @abstractmethod
    def _encode(self, y: Array, weight: Floats | None) -> Floats:
        """Return what the networks are trained to give: outputs × rows."""

    # --------------------------------------------------------------------------------------------------- prediction

    def _outputs(self, X: Any) -> Iterator[Floats]:
        """Yield what each network makes of the rows, in a few passes for all networks: rows × outputs."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        from .network_bags import network_outputs

        table = (X - self.feature_mean_) / self.feature_scale_
        yield from network_outputs(self._training(), table, self._n_outputs, self._task, self.networks_)
