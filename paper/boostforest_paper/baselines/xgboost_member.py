"""XGBoost's classifier for replicas that lack classes; imported only where XGBoost is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import xgboost


class XGBoostMember(xgboost.XGBClassifier):
    """XGBoost's classifier with any integers as labels: its own wants all of 0 to the number of classes - 1.

    XGBoost turns "binary:logistic" into "multi:softprob" where there are more than two classes, but nothing back.
    """

    def fit(self, X: Any, y: Any, **arguments: Any) -> XGBoostMember:
        """Fit, with the classes that the replica has numbered anew."""
        seen, codes = np.unique(y, return_inverse=True)
        self._seen = np.arange(len(seen))  # fit of the base class compares the labels with classes_
        if len(seen) <= 2 and str(self.get_params()["objective"]).startswith("multi:"):
            self.set_params(objective="binary:logistic")
        super().fit(X, codes, **arguments)
        self._seen = seen
        return self

    @property
    def classes_(self) -> Any:
        """Return the classes that the replica has."""
        return self._seen

    def predict(self, X: Any, **arguments: Any) -> Any:
        """Predict classes; scores as they are."""
        predicted = super().predict(X, **arguments)
        return predicted if arguments.get("output_margin") else self._seen[predicted]
