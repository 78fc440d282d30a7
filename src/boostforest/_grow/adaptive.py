"""A pool that learns: small groups of trees with other settings, judged out of bag, decide how the rest is grown.

The search is greedy. Every round changes the best settings so far in one way at a time and grows a small group for each
change, on the same replicas, so that the groups differ in nothing else. Then features that hardly matter are no longer
split on, half of them at a time, while that helps. After the search the shares of the settings that are not clearly
worse than the best are those that minimise the squared error of the mixture's out-of-bag outputs.

Larger leaves make smaller models. Where boosted trees will be mixed in, what these find the forest need not find: so in
the end larger leaves are tried beside a few of them, and taken if the loss of both together hardly tells.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from .._base.typing import Floats
from .._model.inspection import gain_importances
from .boosted import Chain, Forest, Mixture
from .data import TrainingData
from .groups import Group, Growth, Settings

SMALL_LEAVES = tuple(range(2, 9))
LARGE_LEAVES = (15, 20, 25, 30, 35, 40)
#: Trees without slopes, as boosting libraries have them: for tables on which lines only add noise.
PLAIN_TREES: Settings = {"node_model": "constant", "n_cuts": 8, "batch_size": None, "reg_lambda": (1.0, 3.0, 10.0)}
ANY_LEAVES: Settings = {"max_leaf_nodes": None}
_CHANGES: tuple[Settings, ...] = (
    {"n_cuts": 4},
    {"min_samples_leaf": SMALL_LEAVES},
    {"min_samples_leaf": LARGE_LEAVES},
    {"reg_lambda": (10.0, 100.0, 1000.0)},
    {"max_features": 0.5},
    {"node_model": "elm"},
    PLAIN_TREES,
)
_QUICK_CHANGES = _CHANGES[:1] + _CHANGES[2:3] + _CHANGES[5:6]
_FURTHER: tuple[tuple[Settings, Settings], ...] = (  # what is tried after a change has proved good
    ({"n_cuts": 4}, {"n_cuts": 16}),
    (PLAIN_TREES, {"n_cuts": 32}),
    ({"min_samples_leaf": LARGE_LEAVES}, {"min_samples_leaf": (40, 60, 80, 100)}),
    ({"min_samples_leaf": (40, 60, 80, 100)}, {"min_samples_leaf": (150, 200, 300, 400)}),
)
_LARGER_LEAVES = (tuple(range(10, 31)), LARGE_LEAVES, (40, 60, 80, 100), (150, 200, 300, 400))  # ever smaller models
_ROUNDS, _HALVINGS = 3, 3
_ACCEPTED, _HOPEFUL, _MUCH_WORSE = -0.5, 1.0, 2.0  # t values of the change of the loss
_DOUBT = 0.5  # share of the first settings if nothing was gained; none at a t value of -2
_MOST_ELM_FEATURES = 60
_LEAST_FEATURES = 8  # to choose from
_FEW_OUTPUTS, _MANY_SCORES = 5, 25_000  # more outputs, and more scores (rows times outputs): every tree takes its time
_LEAST_BUDGET = 65
# In regression a share of the trees is as good but where rows are few, which tell little, or enough for settings to
# differ clearly; from many rows on, where trees take their time, of classes too.
_FEW_ROWS, _ENOUGH_ROWS, _SHARE = 300, 4000, 0.7
MANY_ROWS, _SHARE_OF_MANY_ROWS = 8000, 0.525
PLENTY_OF_ROWS, _SHARE_OF_PLENTY = 10_000, 0.36
_FEW_TREES = 120  # are all grown
_LEAST_SHARE = 0.05
_SMALLER = 0.8  # share of the nodes that is worth larger leaves
_AS_GOOD, _HARDLY_TELLS = 0.005, 1.0  # what the loss may rise by for them, and its t value
_NEARLY_AS_GOOD, _TELLS_LITTLE = 0.02, 5.0  # of many rows, as later stages find what larger leaves do not
_FAIR = 0.1  # what the loss without boosted trees may rise by


Company = Callable[[Forest], list[Chain]]  # boosted chains that may count beside a forest; none: they do not


@dataclass(frozen=True)
class Trial:
    """Settings that were tried."""

    round: int
    group: Group
    losses: Floats  #: of every row, were there infinitely many such trees
    share: float = 0.0  #: of the forest's trees

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self.group.settings

    @property
    def n_nodes(self) -> int:
        """Nodes of all its trees."""
        return len(self.group.model.columns.feature)


def is_slow(data: TrainingData) -> bool:
    """Tell whether every tree takes its time, as there are many classes and rows; each tree then tells more, too."""
    return data.loss.n_outputs > _FEW_OUTPUTS and len(data.X) * data.loss.n_outputs > _MANY_SCORES


def affordable_trees(n_trees: int, data: TrainingData, some_features: bool) -> int:
    """Return how many of so many trees are grown: fewer the more rows there are, and where trees are slow.

    ``some_features``: their models see few of many features, so that there are later stages, too.
    """
    if not is_slow(data):
        n_rows = len(data.X)
        share = 1.0 if data.loss.n_classes or not _FEW_ROWS <= n_rows < _ENOUGH_ROWS else _SHARE
        share = share if n_rows < MANY_ROWS else _SHARE_OF_MANY_ROWS if n_rows < PLENTY_OF_ROWS else _SHARE_OF_PLENTY
        return max(int(share * n_trees), min(n_trees, _FEW_TREES))
    share = _MANY_SCORES / (len(data.X) * data.loss.n_outputs)
    n_affordable = max(int(share * n_trees / 2), min(n_trees, _LEAST_BUDGET))
    return min(2 * n_affordable, n_trees) if some_features else n_affordable


def allowed_changes(own: Set[str], data: TrainingData, few_leaves: bool, some_features: bool) -> list[Settings]:
    """Return the changes that may be tried.

    ``own``: what the user has set; first settings have few leaves, and models of some features, if so said.
    """
    allowed = [change for change in (_QUICK_CHANGES if is_slow(data) else _CHANGES) if not change.keys() & own]
    if few_leaves:
        allowed = [change | ANY_LEAVES if change == PLAIN_TREES else change for change in allowed]
        if not (some_features and is_slow(data)):  # leaves with slopes of all features and classes take much memory
            allowed.append(ANY_LEAVES)
    constrained = data.roles.monotonic_cst is not None or data.roles.interactions is not None
    if data.X.shape[1] > _MOST_ELM_FEATURES or constrained:
        allowed = [change for change in allowed if change.get("node_model") != "elm"]
    return allowed


class Search:
    """Tries settings, and keeps the trees."""

    def __init__(
        self, growth: Growth, group_size: int, changes: list[Settings], calibrated: bool, company: Company | None = None
    ) -> None:
        """``calibrated``: groups are judged by what calibration makes of them; ``company``: what is beside them."""
        self._growth, self._changes, self._calibrated = growth, changes, calibrated
        self._company = company
        self.n_replaced = 0  # trees that others stand for, which may be grown besides
        self._seeds = growth.seeds(group_size)
        self.trials: list[Trial] = []

    def run(self, budget: int) -> list[Trial]:
        """Return the trials with their shares; ``budget``: trees that may be grown."""
        best, changes = self._try({}, 0), self._changes
        for number in range(1, _ROUNDS + 1):
            affordable = self._affordable(budget)
            tried = [(change, self._try(best.settings | change, number)) for change in changes[:affordable]]
            if not tried:
                break
            compared = [(*self._compare(trial, best), change, trial) for change, trial in tried]
            compared.sort(key=lambda c: c[0])
            difference, t, change, trial = compared[0]
            if not difference < 0 or t > _ACCEPTED:  # also where no row can judge
                break
            best = trial
            changes = [c for _, other_t, c, _ in compared[1:] if other_t < _HOPEFUL and not c.keys() & change.keys()]
            changes += [further for before, further in _FURTHER if before.items() <= change.items()]
        best = self._choose_features(best, budget)
        shares = self._with_larger_leaves(self._shares(best), budget)
        return [replace(trial, share=float(s)) for trial, s in zip(self.trials, shares, strict=True)]

    def _affordable(self, budget: int) -> int:
        """Return how many more groups may be grown."""
        return max(budget - self._growth.n_grown, 0) // len(self._seeds)

    def _choose_features(self, best: Trial, budget: int) -> Trial:
        """Split only on the half of the features with the larger gains, and a half of these, while that helps."""
        data = self._growth.data
        n_features = data.X.shape[1]
        if data.roles.split_features is not None or n_features < _LEAST_FEATURES:
            return best
        features = np.arange(n_features)
        for _ in range(min(_HALVINGS, self._affordable(budget))):
            gains = gain_importances(best.group.model.columns)[features]
            features = np.sort(features[np.argsort(-gains, kind="stable")[: len(features) // 2]])
            settings = best.settings | {"split_features": tuple(features.tolist())}
            trial = self._try(settings, self.trials[-1].round + 1)
            difference, t = self._compare(trial, best)
            if not difference < 0 or t > _ACCEPTED:
                break
            best = trial
        return best

    def _try(self, settings: Settings, number: int) -> Trial:
        for trial in self.trials:
            if trial.settings == settings:
                return trial
        group = self._growth.grow(settings, self._seeds)
        self.trials.append(Trial(number, group, self._losses(group)))
        return self.trials[-1]

    def _losses(self, group: Group) -> Floats:
        objective, oob = self._growth.objective, group.oob
        if not self._calibrated:
            return objective.limit_losses(oob)
        return objective.calibrated_losses(oob, objective.counted(oob.n_trees[:, 0] >= 2))

    def _compare(self, trial: Trial, best: Trial) -> tuple[float, float]:
        """Return the mean difference of the losses, and its t value."""
        rows = self._judged_rows
        objective, differences = self._growth.objective, trial.losses - best.losses
        return objective.average(differences, rows), objective.t_value(differences, rows)

    @property
    def _judged_rows(self) -> Any:
        # The same replicas in all groups, so the same rows.
        return self._growth.objective.counted(self.trials[0].group.oob.n_trees[:, 0] >= 2)

    def _shares(self, best: Trial) -> Floats:
        """Return the mixture with the least squared error out of bag; of quantiles, the best setting alone."""
        if not self._growth.objective.loss.predicts_mean:
            return np.array([float(trial is best) for trial in self.trials])
        rows, objective = self._judged_rows, self._growth.objective
        root = np.sqrt(objective.shares(rows))[:, None]
        targets = objective.targets[rows]
        good = [i for i, t in enumerate(self.trials) if t is best or not self._compare(t, best)[1] > _MUCH_WORSE]
        oobs = [self.trials[i].group.oob for i in good]
        errors = np.stack([((oob.mean[rows] - targets) * root).ravel() for oob in oobs])
        # Of settings that get many trees only half of this noise is taken out: the estimates are noisy themselves.
        noise = [((oob.variance_of_mean[rows] * root**2).sum()) for oob in oobs]
        shares = np.zeros(len(self.trials))
        shares[good] = _least_mixture(errors @ errors.T - np.diag(noise) / 2)
        shares[shares < _LEAST_SHARE] = 0.0
        shares = np.asarray(shares / shares.sum())
        if objective.loss.n_classes:
            return shares
        # Squared errors of few outlying rows can mislead. Where the gain may be chance, a part of the trees is grown
        # with the first settings. (Errors of probabilities are bounded.)
        doubt = float(np.clip(_DOUBT * (1 + self._gain(shares) / 2), 0, 1))
        return np.asarray((1 - doubt) * shares + doubt * np.eye(len(shares))[0])

    def _with_larger_leaves(self, shares: Floats, budget: int) -> Floats:
        """Return the shares, or the setting with the largest one alone with leaves as large as is hardly worse."""
        may_change = any("min_samples_leaf" in change for change in self._changes)
        if self._company is None or not may_change or not (chains := self._company(self._forest(shares))):
            return shares
        largest = self.trials[int(np.argmax(shares))]
        limit = _FAIR * abs(self._growth.objective.average(largest.losses, self._judged_rows))
        n_nodes = float(shares @ [trial.n_nodes for trial in self.trials])
        before, least = self._beside(shares, chains), min(largest.group.model.params["min_samples_leaf"])
        n_before, n_used, taken = len(self.trials), int(np.count_nonzero(shares)), False
        for leaves in [leaves for leaves in _LARGER_LEAVES if min(leaves) > least]:
            if self._affordable(budget) < 1:
                break
            trial = self._try(largest.settings | {"min_samples_leaf": leaves}, self.trials[-1].round + 1)
            alone = np.array([float(other is trial) for other in self.trials])
            is_fair = self._growth.objective.average(trial.losses - largest.losses, self._judged_rows) <= limit
            if not is_fair or not self._is_as_good(self._beside(alone, chains), before):
                break
            if trial.n_nodes <= _SMALLER * n_nodes:
                shares, n_nodes, taken = alone, trial.n_nodes, True
        self.n_replaced = len(self._seeds) * (len(self.trials) - n_before + (n_used - 1 if taken else 0))
        return np.append(shares, np.zeros(len(self.trials) - len(shares)))

    def _is_as_good(self, losses: Floats, before: Floats) -> bool:
        objective, rows = self._growth.objective, ~np.isnan(losses)
        many = len(rows) >= MANY_ROWS and objective.loss.n_classes == 0
        most, most_t = (_NEARLY_AS_GOOD, _TELLS_LITTLE) if many else (_AS_GOOD, _HARDLY_TELLS)
        rise = objective.average(losses - before, rows)
        is_small = rise <= most * abs(objective.average(before, rows))
        return is_small and objective.t_value(losses - before, rows) <= most_t

    def _forest(self, shares: Floats) -> Forest:
        """Return a mixture of the first trials as what chains are weighed against, were there infinitely many trees."""
        objective, oobs = self._growth.objective, [trial.group.oob for trial in self.trials]
        scores = objective.scores(sum(s * oob.mean for s, oob in zip(shares, oobs, strict=False)))
        variance = sum(s**2 * oob.variance_of_mean for s, oob in zip(shares, oobs, strict=False))
        return Forest(scores, oobs[0].n_trees[:, 0] >= 2, objective.noise(scores, variance))

    def _beside(self, shares: Floats, chains: list[Chain]) -> Floats:
        """Return the losses of a mixture of the first trials together with chains; NaN for rows that cannot judge."""
        mixture = Mixture(self._growth.objective, self._forest(shares), chains)
        return np.where(mixture.rows, mixture.losses(mixture.fit()), np.nan)

    def _gain(self, shares: Floats) -> float:
        """Return the t value of the change of the squared error by a mixture, against the first settings."""
        objective, oobs = self._growth.objective, [t.group.oob for t in self.trials]
        mean = sum(s * oob.mean for s, oob in zip(shares, oobs, strict=True))
        noise = sum(s**2 * oob.variance_of_mean for s, oob in zip(shares, oobs, strict=True))
        mixed = (mean - objective.targets) ** 2 - noise
        first = (oobs[0].mean - objective.targets) ** 2 - oobs[0].variance_of_mean
        return objective.t_value((mixed - first).sum(axis=1), self._judged_rows)


def _least_mixture(products: Floats) -> Floats:
    """Minimise w' P w over w >= 0 with Σ w = 1."""
    values, vectors = np.linalg.eigh(products)
    root = (vectors * np.sqrt(np.maximum(values, 1e-8 * max(values.max(), 1e-300)))).T
    heavy = 1e3 * np.sqrt(max(np.trace(products), 1e-300) / len(products))  # makes the sum 1, as good as
    row = np.full((1, len(products)), heavy)
    shares: Floats = nnls(np.vstack([root, row]), np.append(np.zeros(len(products)), heavy))[0]
    return np.asarray(shares / shares.sum())


def trees_by_share(trials: list[Trial], n_more: int) -> list[int]:
    """Return how many trees each trial should end with, if ``n_more`` can still be grown.

    All trees of a forest count the same, so their numbers are as the shares are: trials with too many trees lose some.
    """
    shares = np.array([t.share for t in trials])
    there = np.array([t.group.n_trees for t in trials])
    total = float(there[shares > 0].sum() + n_more)
    while np.maximum(total * shares - there, 0)[shares > 0].sum() > n_more:
        total -= 1
    numbers = np.round(total * shares).astype(int)
    return [int(n) for n in np.maximum(numbers, shares > 0)]
