"""Trees and forests for other programs: ONNX models, pipelines that skl2onnx converts, and C source."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from .._estimator.base import STORED, BoostEstimator
from .._estimator.targets import require_one
from .._files.files import replace_file

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["register_skl2onnx", "save_onnx", "to_c", "to_onnx"]

DTYPES = ("float64", "float32")
_ML_OPSETS = (5, 3)


def to_onnx(estimator: Any, dtype: str = "float64", *, leaves: bool = False, ml_opset: int = 5) -> ModelProto:
    """Convert a fitted tree or forest to an ONNX model.

    The model has the same trees, node models, stages and calibration, reads text and missing values as the estimator
    does, and gives the same predictions: each row reaches the same leaves, and all numbers in between are doubles.
    Needs the package onnx (``pip install "boostforest[onnx]"``).

    Parameters
    ----------
    estimator : BoostTreeRegressor, BoostTreeClassifier, BoostForestRegressor or BoostForestClassifier
        The fitted estimator. Pipelines are converted by skl2onnx: see `register_skl2onnx`.
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that go in and come out. With "float32" coefficients that are doubles are stored as such
        too, as ``save_model(dtype="float32")`` does, and the model is about half as large. Coefficients of fewer bytes
        stay as they are.
    leaves : bool, default=False
        Whether the model also gives the leaf of each row in each tree, as `apply` does.
    ml_opset : {5, 3}, default=5
        Version of the operators of ``ai.onnx.ml``: 3 is for runtimes that do not know 5 yet, such as ONNX Runtime
        before 1.21. The predictions are the same, the model is larger and slower.

    Returns
    -------
    model : onnx.ModelProto
        Its input is ``X``, rows × columns. If there are categories, each column is an input of its own, rows × 1, under
        the name that it had in the fit (``x0``, ``x1``, … if it had none): text for categories that are text, numbers
        for all others. NaN is a missing number, and empty text a missing category, unless the fit has seen empty text.
        Its outputs are those of skl2onnx: ``variable``, rows × 1, for regression; ``label``, one per row, and
        ``probabilities``, rows × classes, for classification; then ``leaves``, rows × trees.

    Raises
    ------
    ValueError
        If the estimator has what is not converted: node models in Python, such as networks, `monotonic_cst`, columns
        of dates, of free text or of identifiers, or a wide sparse matrix as its table.

    See Also
    --------
    save_onnx : Write the model to a file.
    register_skl2onnx : Convert pipelines that end in a tree or a forest.

    Notes
    -----
    Values are not checked as the estimator checks them: an infinite number is not refused. Memory goes with the number
    of rows that are predicted at once; some hundreds are quickest.

    Examples
    --------
    >>> from boostforest import BoostForestClassifier
    >>> from boostforest.export import save_onnx, to_onnx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = BoostForestClassifier(5, random_state=0).fit(X, y)
    >>> model = to_onnx(forest, dtype="float32")  # doctest: +SKIP
    >>> save_onnx(model, "iris.onnx")  # doctest: +SKIP
    """
    _check(estimator, dtype)
    if isinstance(ml_opset, bool) or ml_opset not in _ML_OPSETS:
        raise ValueError(f"ml_opset must be 5 or 3; got {ml_opset!r}.")
    require_one(estimator._fitted(), "to_onnx")
    try:
        from ._onnx import make_model
    except ModuleNotFoundError as error:
        raise ImportError('to_onnx needs the package onnx: pip install "boostforest[onnx]".') from error
    return make_model(estimator._fitted(), type(estimator).__name__, dtype, bool(leaves), int(ml_opset))


def save_onnx(model: ModelProto, path: str | os.PathLike[str]) -> None:
    """Write an ONNX model to a file, whole or not at all.

    The file is the one of ``onnx.save`` in fewer bytes, up to a fifth: the lists of numbers that trees consist of are
    packed, which every reader of ONNX takes. Needs the package onnx.

    Parameters
    ----------
    model : onnx.ModelProto
        What `to_onnx` gives, or any other ONNX model, such as a converted pipeline.
    path : str or path-like
        The file.

    Raises
    ------
    ValueError
        If the model is larger than the 2 GB that an ONNX file may have: ``onnx.save_model(model, path,
        save_as_external_data=True)`` writes two files.

    See Also
    --------
    to_onnx : Convert a fitted tree or forest.

    Examples
    --------
    >>> from boostforest import BoostTreeRegressor
    >>> from boostforest.export import save_onnx, to_onnx
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = BoostTreeRegressor(random_state=0).fit(X, y)
    >>> save_onnx(to_onnx(tree), "diabetes.onnx")  # doctest: +SKIP
    """
    try:
        from onnx import ModelProto

        from ._packed import LARGEST, packed_bytes
    except ModuleNotFoundError as error:
        raise ImportError('save_onnx needs the package onnx: pip install "boostforest[onnx]".') from error
    if not isinstance(model, ModelProto):
        raise TypeError(f"model must be an onnx.ModelProto, such as to_onnx gives; got {type(model).__name__}.")
    if model.ByteSize() > LARGEST:
        raise ValueError(
            "model is larger than the 2 GB of an ONNX file: onnx.save_model(model, path, save_as_external_data=True) "
            "writes it in two."
        )
    replace_file(os.fspath(path), [packed_bytes(model)])


def _check(estimator: Any, dtype: object) -> None:
    """Refuse what cannot be converted."""
    if not isinstance(estimator, BoostEstimator):
        raise TypeError(
            f"estimator must be one of {', '.join(STORED)}; got {type(estimator).__name__}: pipelines are converted by "
            "skl2onnx, see register_skl2onnx."
        )
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(map(repr, DTYPES))}; got {dtype!r}.")
    check_is_fitted(estimator)


def to_c(estimator: Any, name: str = "model", dtype: str = "float64") -> str:
    """Convert a fitted tree or forest to C source: one header file, for machines without Python, files or an allocator.

    It holds the model as tables, and the functions that read them (C99, nothing but the standard library; C++ takes it
    as well). Each row reaches the same leaves, and predictions differ in rounding alone.

    Parameters
    ----------
    estimator : BoostTreeRegressor, BoostTreeClassifier, BoostForestRegressor or BoostForestClassifier
        The fitted estimator.
    name : str, default="model"
        Name of the model in C: letters, digits and underscores.
    dtype : {"float64", "float32"}, default="float64"
        Type of the coefficients. Thresholds are doubles, and so are all numbers that are computed with.

    Returns
    -------
    source : str
        The text of a header file, ASCII. With ``name="houses"``: ``houses_predict(row, result, work)`` predicts
        one row of ``HOUSES_N_COLUMNS`` values, and returns 0 or the number of an error (``bf_error`` has its text);
        ``houses_columns`` and ``houses_classes`` are their names. Of a column of categories the row has the number of
        a level: ``bf_text_level(&houses, column, "text")`` or ``bf_number_level(&houses, column, 5)``.

    Raises
    ------
    ValueError
        If the estimator has what is not converted: node models in Python, such as networks, `monotonic_cst`, columns
        of dates, of free text or of identifiers, or a wide sparse matrix as its table.

    See Also
    --------
    to_onnx : Convert to an ONNX model.
    boostforest.get_include : Folder of the header that reads model files in C.

    Examples
    --------
    >>> from boostforest import BoostTreeRegressor
    >>> from boostforest.export import to_c
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> source = to_c(BoostTreeRegressor(random_state=0).fit(X, y), name="diabetes")
    >>> "static inline int diabetes_predict(const double *row, double *result, double *work)" in source
    True
    """
    from . import _c

    _check(estimator, dtype)
    if not isinstance(name, str) or not _c.is_name(name):
        raise ValueError(f"name must be letters, digits and underscores, and not a word of C; got {name!r}.")
    require_one(estimator._fitted(), "to_c")
    return _c.make_source(estimator._fitted(), name, dtype)


def register_skl2onnx() -> None:
    """Let skl2onnx convert pipelines with boostforest's trees and forests in them.

    Call it once, before ``skl2onnx.to_onnx`` or ``skl2onnx.convert_sklearn``. Doubles in give doubles out, anything
    else floats; classifiers know the options ``zipmap``, ``output_class_labels`` and ``nocl``. Needs the package
    skl2onnx.

    See Also
    --------
    to_onnx : Convert a tree or a forest on its own.

    Examples
    --------
    >>> from boostforest import BoostForestRegressor
    >>> from boostforest.export import register_skl2onnx
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_diabetes(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), BoostForestRegressor(5, random_state=0)).fit(X, y)
    >>> register_skl2onnx()  # doctest: +SKIP
    >>> from skl2onnx import to_onnx  # doctest: +SKIP
    >>> model = to_onnx(pipeline, X)  # doctest: +SKIP
    """
    try:
        from ._skl2onnx import register
    except ModuleNotFoundError as error:
        raise ImportError("register_skl2onnx needs the package skl2onnx: pip install skl2onnx.") from error
    register()
