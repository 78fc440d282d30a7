"""What an explanation holds, under the names that shap uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.typing import Floats, Labels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of the columns of a table to predictions, as ``explain`` of trees and forests returns them.

    The contributions to a prediction and its base value add up to the prediction. The fields have the names and the
    shapes that shap gives them, and `to_shap` makes an object that shap's plots take.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns) or (n_rows, n_columns, n_outputs)
        What each column adds to the prediction of each row, in units of the output. With ``interactions=True``
        (n_rows, n_columns, n_columns[, n_outputs]): half of the interaction of two columns at both of their places,
        on the diagonal what a column does alone; the sum over a row of that matrix is the contribution of its column.
    base_values : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        What the output is when no column is known: its mean over the background.
    data : ndarray of shape (n_rows, n_columns)
        The explained rows.
    feature_names : list of str
        Names of the columns.
    output_names : list of str or None
        The classes, if there is an output for each; else None.
    noise : ndarray of the shape of values
        Standard error of each value by sampling; 0 where the value is exact, as all interactions are.

    Examples
    --------
    >>> from boostforest import BoostForestRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = BoostForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> explanation = forest.explain(X.iloc[:3])
    >>> explanation.values.shape
    (3, 10)
    >>> total = explanation.base_values + explanation.values.sum(axis=1)
    >>> bool(abs(total - forest.predict(X.iloc[:3])).max() < 1e-9)
    True
    """

    values: Floats
    base_values: Floats
    data: Labels
    feature_names: list[str]
    output_names: list[str] | None
    noise: Floats
    interactions: bool = field(default=False, kw_only=True)  #: whether values are interactions

    def __repr__(self) -> str:
        what = "interactions" if self.interactions else "contributions"
        shape = " × ".join(map(str, self.values.shape))
        return f"<Explanation: {what}, {shape}, of {', '.join(self.feature_names[:3])}, …>"

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation`` for the plots of shap.

        Needs shap (``pip install "boostforest[explain]"``).

        Returns
        -------
        explanation : shap.Explanation
            The same figures.
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError('to_shap needs shap: pip install "boostforest[explain]".') from error
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=self.feature_names,
            output_names=self.output_names,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per contribution.

        Needs pandas (``pip install "boostforest[frames]"``).

        Returns
        -------
        table : pandas.DataFrame
            ``row``, ``output`` if there are several, ``feature`` (and ``other``, the second column of interactions),
            ``value`` of the feature in that row, its ``contribution``, the ``noise`` of that, and the ``base`` value of
            the row.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('to_frame needs pandas: pip install "boostforest[frames]".') from error
        n_axes = 2 + self.interactions
        values = self.values if self.values.ndim > n_axes else self.values[..., None]
        noise = self.noise.reshape(values.shape)
        base = self.base_values.reshape(len(values), -1)
        at = [index.ravel() for index in np.indices(values.shape)]
        names = np.array(self.feature_names, dtype=object)
        table: dict[str, Any] = {"row": at[0]}
        if self.output_names is not None:
            table["output"] = np.array(self.output_names, dtype=object)[at[-1]]
        table["feature"] = names[at[1]]
        if self.interactions:
            table["other"] = names[at[2]]
        table["value"] = self.data[at[0], at[1]]
        table |= {"contribution": values.ravel(), "noise": noise.ravel(), "base": base[at[0], at[-1]]}
        return pd.DataFrame(table)
