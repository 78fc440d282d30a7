"""A BoostTree in words: its conditions and models in the user's units, for ``export_text`` and ``plot_tree``."""

from typing import NamedTuple

import numpy as np

from .._base.typing import Floats
from .._features.calendar import CalendarColumn
from .._features.encoder import CategoryColumn, NumberColumn
from .._model.inspection import leaf_models, raw_thresholds
from .._model.model import Model
from .show import ShownNode, linear_model, number

_ROUNDING = 1e-10  # effects that are nothing, in units of the target's standard deviation or log-odds
_LONGEST_MODEL = 60  # characters of a model in Python

CLIPPED = (
    "A model is the sum of those on the path. The part of each node is clipped to the range of its training rows,\n"
    "which the formulas leave out; to_dataframe has all parts and ranges."
)


class Words(NamedTuple):
    """How a feature is spoken of."""

    name: str  #: in a formula
    low: str  #: of rows at or below a threshold
    high: str  #: of rows above it
    absent: str  #: what is routed by itself: missing values, unknown categories; or nothing
    has_threshold: bool = False  #: a number, else 0 or 1


def _number_words(name: str, absent: str) -> Words:
    return Words(name, f"{name} <=", f"{name} >", absent, has_threshold=True)


def _flag_words(low: str, high: str, absent: str) -> Words:
    return Words(f"[{high}]", low, high, absent)


def _level_words(name: str, column: CategoryColumn) -> list[Words]:
    """Return the words of a category's features of 0 and 1; of two levels one feature tells all."""
    pairs = [(f"{name} != {level}", f"{name} = {level}") for level in column.levels]
    pairs += [(f"{name} is not missing", f"{name} is missing")] * column.missing
    if len(pairs) == 2:
        pairs = [(pairs[0][1], pairs[1][1])]
    return [_flag_words(low, high, "unknown") for low, high in pairs]


def _feature_words(model: Model, names: list[str]) -> list[Words]:
    if model.features.sparse is not None:
        return [_number_words(name, "") for name in model.feature_names]
    if model.features.encoder is None:
        return [_number_words(name, "missing") for name in names]
    words = []
    for name, column in zip(names, model.features.encoder.columns, strict=True):
        if isinstance(column, NumberColumn):
            words.append(_number_words(name, "missing"))
            if column.indicator:
                words.append(_flag_words(f"{name} is not missing", f"{name} is missing", ""))
        elif isinstance(column, CalendarColumn):
            names_of_parts = column.feature_names(name)
            words += [_number_words(part, "missing") for part in names_of_parts]
            if column.indicator:
                words[-1] = _flag_words(f"{name} is not missing", f"{name} is missing", "")
        elif not isinstance(column, CategoryColumn):
            words += [_number_words(f"{name} words {i + 1}", "") for i in range(column.n_features)]
        elif column.means is None:
            words += _level_words(name, column)
        else:
            targets = model.loss.category_target_names
            of_column = model.features.encoder.mean_names(name, column, targets)
            words += [_number_words(feature, "unknown") for feature in of_column]
    return words


def _conditions(words: Words, threshold: float, missing_left: bool, digits: int) -> tuple[str, str]:
    sides = [words.low, words.high]
    if words.has_threshold:
        sides = [f"{side} {number(threshold, digits)}" for side in sides]
    if words.absent:
        sides[0 if missing_left else 1] += f" or {words.absent}"
    return sides[0], sides[1]


def _summary(model: Model, n_rows: float, loss: float | None, digits: int) -> str:
    if loss is None:
        return f"{n_rows:g} rows"
    mean_loss = max(loss, 0.0) / max(n_rows, np.finfo(np.float64).tiny)
    name, value = model.loss.figure(mean_loss)
    return f"{n_rows:g} rows, {name} {number(value, digits)}"


def _other_model(model: Model, leaf: int) -> str:
    """Return a model that is not linear in the features in a few words."""
    forest = model.columns
    if forest.kind[0] == 2:
        text = f"a linear model of {forest.n_inputs[0]} hidden units"
    else:
        text = " ".join(repr(forest.models[leaf]).split())
        text = text if len(text) <= _LONGEST_MODEL else text[: _LONGEST_MODEL - 1] + "…"
    return f"{text}, added to those above it" if forest.sum_path[0] and leaf > 0 else text


def _model_lines(model: Model, models: Floats, leaf: int, words: list[Words], digits: int) -> tuple[str, ...]:
    if model.columns.kind[0] > 1:
        return (_other_model(model, leaf),)
    names = [w.name for w in words]
    lines: list[str] = []
    for output, (intercept, *slopes) in zip(model.loss.score_names, models[leaf], strict=True):
        effects = np.abs(slopes) * model.features.deviation
        slopes = np.where(effects > _ROUNDING * model.loss.unit, slopes, 0.0)
        most = 5 if len(models[leaf]) == 1 else 2
        lines += linear_model(output, intercept, slopes, names, digits, effects, most)
    return tuple(lines)


def shown_nodes(model: Model, names: list[str], digits: int) -> list[ShownNode]:
    """Return the nodes in words, given the names of the columns; see ``show``."""
    forest = model.columns
    words = _feature_words(model, names)
    thresholds, models = raw_thresholds(model), leaf_models(model)
    has_model = forest.has_model
    losses = forest.loss
    if losses is not None and len(losses) > 1 and not losses.any():  # of boosted trees they are not computed
        losses = None
    shown = []
    for i, feature in enumerate(forest.feature.tolist()):
        loss = None if losses is None else float(losses[i])
        summary = _summary(model, float(forest.n_samples[i]), loss, digits)
        if feature < 0:
            shown.append(ShownNode(summary, model=_model_lines(model, models, i, words, digits)))
            continue
        left = int(forest.left[i])
        own = _model_lines(model, models, i, words, digits) if has_model[i] else ()
        conditions = _conditions(words[feature], float(thresholds[i]), bool(forest.missing_left[i]), digits)
        shown.append(ShownNode(summary, (left, left + 1), conditions, own))
    return shown
