"""Bagging, whatever the members are: forest arguments, bootstrap, warm starts, out-of-bag scores."""

from __future__ import annotations

import hashlib
import numbers
from typing import Any, ClassVar

import numpy as np

from .._base.sampling import Sampling
from .._base.typing import Floats, Mask
from .._base.validation import n_bootstrap_draws, warn
from .base import n_threads
from .scoring import check_oob_score


class BaggingMixin:
    """What every forest does, be its members compiled trees or foreign estimators."""

    _member_noun: ClassVar[str] = "tree"

    n_estimators: Any
    bootstrap: bool
    max_samples: Any
    oob_score: Any
    warm_start: bool
    n_jobs: Any
    verbose: Any

    def _check_bagging(self) -> None:
        """Check the arguments that all forests have."""
        for name in ("bootstrap", "warm_start"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False; got {getattr(self, name)!r}.")
        self._check_n_estimators()
        if not isinstance(self.verbose, numbers.Integral) or self.verbose < 0:
            raise ValueError(f"verbose must be an integer of at least 0; got {self.verbose!r}.")
        if not isinstance(self.oob_score, bool | np.bool_):
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

    def _kept_members(self, n_fitted: int) -> int:
        """Return how many members of an earlier fit stay, of those that there are."""
        if not self.warm_start or n_fitted == 0:
            return 0
        if self.n_estimators < n_fitted:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {n_fitted} {self._member_noun}s there are when "
                "warm_start=True."
            )
        if self.n_estimators == n_fitted:
            warn(f"Warm-start fitting without increasing n_estimators does not fit new {self._member_noun}s.")
        return n_fitted

    def _make_sampling(
        self, n_rows: int, weight: Floats | None, balance: bool, sample_weight: Floats | None
    ) -> Sampling:
        if not self.bootstrap:
            return Sampling(weight=weight)
        return Sampling(
            bootstrap=True,
            n_draws=n_bootstrap_draws(self.max_samples, n_rows),
            cumulative=None if weight is None else np.cumsum(weight),
            balance_classes=balance,
            sample_weight=sample_weight,
        )

    def _needs_out_of_bag(self) -> bool:
        return bool(self.oob_score)

    def _draws_of_all(
        self, sampling: Sampling, n_rows: int, before: tuple[Any, ...] | None, kept: int
    ) -> tuple[Any, ...] | None:
        """Return how all members were drawn, None if not alike; ``before`` says it of those that stay."""
        weights = b"" if sampling.cumulative is None else sampling.cumulative.tobytes()
        draws = sampling.bootstrap, n_rows, sampling.n_draws, hashlib.sha256(weights).digest()
        if kept == 0 or before == draws:
            return draws
        if self._needs_out_of_bag():
            raise ValueError(
                f"oob_score needs {self._member_noun}s that were all drawn alike: with warm_start=True keep bootstrap, "
                "max_samples, sample_weight and the number of rows of the first fit."
            )
        return None

    def _warn_if_always_drawn(self, seen: Mask) -> None:
        """Say that some rows have no out-of-bag prediction; ``seen`` are those that have."""
        if not seen.all():
            noun = self._member_noun
            warn(
                f"{(~seen).sum()} rows were drawn by every {noun} and have no out-of-bag prediction: use more "
                f"{noun}s (n_estimators) or draw fewer rows (max_samples)."
            )
