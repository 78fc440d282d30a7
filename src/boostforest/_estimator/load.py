"""Estimators from model files."""

import os
from typing import Any

from .._files.files import load
from .base import STORED


def load_model(path: str | os.PathLike[str], node_model: Any = None) -> Any:
    """Load an estimator from a file that ``save_model`` has written.

    Nothing in the file is run, and no number in it is trusted: a file that was damaged, or made up, is refused. What a
    model file holds and what is promised about it is in ``docs/dev/format.md``.

    Parameters
    ----------
    path : str or path-like
        The file.
    node_model : TorchNode, default=None
        Needed only for networks of a module of your own, which no file can hold: the `TorchNode` with that module.

    Returns
    -------
    estimator : BoostTreeRegressor, BoostTreeClassifier, BoostForestRegressor or BoostForestClassifier
        The fitted estimator, as it was saved.

    Raises
    ------
    ValueError
        If the file is not a model file, is damaged, or was written by a newer version of boostforest.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import boostforest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = boostforest.BoostForestClassifier(5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     forest.save_model(Path(folder) / "iris.safetensors")
    ...     loaded = boostforest.load_model(Path(folder) / "iris.safetensors")
    >>> loaded
    BoostForestClassifier(n_estimators=5, random_state=0)
    >>> bool((loaded.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    return load(path, STORED, getattr(node_model, "module", None))
