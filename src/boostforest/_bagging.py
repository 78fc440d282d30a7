"""Bagging, whatever the members are: forest arguments, bootstrap, warm starts, out-of-bag scores."""

from __future__ import annotations

import hashlib
import numbers
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ._scoring import check_oob_score, score_rows
from ._threads import n_threads
from ._validation import n_bootstrap_draws, warn

Floats = npt.NDArray[np.float64]

LEFT_OUT = ("_left_out", "_conformity", "_conformity_weight")  # what intervals and sets are made of


@dataclass
class Sampling:
    """How the members get their rows; see ``Sampling`` in ``src/core/grow/replica.hpp``."""

    bootstrap: bool = False
    n_draws: int = 0
    cumulative: Floats | None = None
    weight: Floats | None = None
    balance_classes: bool = False
    sample_weight: Floats | None = None  # the user's, without class weights: what rows count out of bag


class BaggingPart:
    """What every forest does, be its members compiled trees or foreign estimators."""

    _member_noun: ClassVar[str] = "tree"

    n_estimators: Any
    bootstrap: bool
    max_samples: Any
    oob_score: Any
    warm_start: bool
    n_jobs: Any
    verbose: Any

    oob_score_: float
    _draws: tuple[Any, ...] | None  # how all members were drawn, None if not alike

    def _check_bagging(self) -> None:
        """Check the arguments that all forests have."""
        for name in ("bootstrap", "warm_start"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}.")
        self._check_n_estimators()
        if not isinstance(self.verbose, numbers.Integral) or self.verbose < 0:
            raise ValueError(f"verbose must be an integer of at least 0; got {self.verbose!r}.")
        check_oob_score(self.oob_score)
        if not self.bootstrap and self.max_samples is not None:
            raise ValueError("max_samples needs bootstrap=True; set it to None or bootstrap to True.")
        if not self.bootstrap and self.oob_score:
            raise ValueError(f"oob_score needs bootstrap=True: without it every {self._member_noun} has seen all rows.")
        n_threads(self.n_jobs)

    def _check_n_estimators(self) -> None:
        n = self.n_estimators
        if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n_estimators must be an integer of at least 1; got {n!r}.")

    @abstractmethod
    def _n_fitted(self) -> int:
        """Return how many members an earlier fit has left."""

    def _kept_trees(self) -> int:
        """Return how many members of an earlier fit stay."""
        if not self.warm_start:
            return 0
        kept = self._n_fitted()
        if self.n_estimators < kept:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {kept} {self._member_noun}s there are when "
                "warm_start=True."
            )
        if self.n_estimators == kept:
            warn(f"Warm-start fitting without increasing n_estimators does not fit new {self._member_noun}s.")
        return kept

    def _make_sampling(
        self, n_rows: int, weight: Floats | None, balance: bool, sample_weight: Floats | None
    ) -> Sampling:
        if not self.bootstrap:
            return Sampling(weight=weight)
        n_draws = n_bootstrap_draws(self.max_samples, n_rows)
        cumulative = None if weight is None else np.cumsum(weight)
        return Sampling(True, n_draws, cumulative, None, balance, sample_weight)

    def _after_growing(self, X: Any, y: npt.NDArray[Any], sampling: Sampling, kept: int) -> None:
        """Set the out-of-bag figures, or remove those of an earlier fit."""
        for name in ("oob_score_", "oob_prediction_", "oob_decision_function_", *LEFT_OUT):
            self.__dict__.pop(name, None)
        weights = b"" if sampling.cumulative is None else sampling.cumulative.tobytes()
        draws = (sampling.bootstrap, len(y), sampling.n_draws, hashlib.sha256(weights).digest())
        self._draws = draws if kept == 0 or self._draws == draws else None
        if not self._needs_out_of_bag():
            return
        if self._draws is None:
            raise ValueError(
                f"oob_score needs {self._member_noun}s that were all drawn alike: with warm_start=True keep bootstrap, "
                "max_samples, sample_weight and the number of rows of the first fit."
            )
        self._set_oob_score(*self._out_of_bag(X, sampling), y, sampling)

    def _needs_out_of_bag(self) -> bool:
        return bool(self.oob_score)

    def _out_of_bag(self, X: Any, sampling: Sampling) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return the mean output of the members that have not drawn a row, and which rows have such members."""
        mean, has_members = self._oob_means(X, sampling)
        if not has_members.all():
            noun = self._member_noun
            warn(
                f"{(~has_members).sum()} rows were drawn by every {noun} and have no out-of-bag prediction: use more "
                f"{noun}s (n_estimators) or draw fewer rows (max_samples)."
            )
        return mean, has_members

    def _oob_means(self, X: Any, sampling: Sampling) -> tuple[Floats, npt.NDArray[np.bool_]]:
        total, n_members = self._sum_out_of_bag(X, sampling)
        with np.errstate(invalid="ignore"):
            return total / n_members, n_members[:, 0] > 0

    @abstractmethod
    def _sum_out_of_bag(self, X: Any, sampling: Sampling) -> tuple[Floats, Floats]:
        """Add up, for each row, the outputs of the members that have not drawn it; return that and their number."""

    @abstractmethod
    def _set_oob_score(
        self, mean: Floats, has_members: npt.NDArray[np.bool_], y: npt.NDArray[Any], sampling: Sampling
    ) -> None:
        """Set the attributes that ``oob_score`` asks for."""

    def _score_rows(
        self, y: npt.NDArray[Any], outputs: Floats, rows: npt.NDArray[np.bool_], sampling: Sampling
    ) -> float:
        """Score the predictions or probabilities of some rows as ``oob_score`` says; NaN without any."""
        classes = getattr(self, "classes_", None)
        return score_rows(self.oob_score, y, outputs, classes, rows, sampling.sample_weight)
