"""The method ``report`` of trees and forests."""

import os
from typing import Any

from .._files.files import replace_file


class ReportMixin:
    """Estimators that write a page about themselves."""

    def report(
        self,
        X: Any,
        y: Any,
        path: str | os.PathLike[str] | None = None,
        *,
        sample_weight: Any = None,
        title: str | None = None,
        target: str | None = None,
    ) -> str:
        """Write a page: how good the model is, what matters, effects, errors, the table, and a model card.

        One HTML file without anything to fetch; it can be read on a phone, printed, in the dark and without JavaScript.
        Needs matplotlib (``pip install "boostforest[plot]"``).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows of the fit, in their order, which a forest judges out of bag, or better rows that it has not seen.
        y : array-like of shape (n_samples,)
            Their target.
        path : str or path-like, default=None
            The file to write, by custom ``*.html``; None: nothing is written.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; of the rows of the fit, the same as there.
        title : str, default=None
            Heading of the page; None: it says what is predicted.
        target : str, default=None
            What the target is called; None: the name of y, if it has one.

        Returns
        -------
        page : str
            The page as HTML.

        Notes
        -----
        The forest is compared with a constant and with a linear model, cross-validated on the same rows. A model from a
        file has no training rows, and says so. Rows are called by the index of a frame, or by their numbers from 0.

        Examples
        --------
        >>> from boostforest import BoostForestRegressor
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> forest = BoostForestRegressor(50, random_state=0).fit(X, y)
        >>> page = forest.report(X, y, "diabetes.html")  # doctest: +SKIP
        """
        from ..plot._canvas import check_axes
        from .facts import Facts
        from .page import make_page

        check_axes(None)
        page = make_page(Facts(self, X, y, sample_weight, target), title)
        if path is not None:
            replace_file(os.fspath(path), [page.encode()])
        return page
