"""The rows of a fit or an evaluation, and the estimator for them."""

import json
import warnings
from collections.abc import Callable
from typing import Any

from .. import BoostForestClassifier, BoostForestRegressor
from .features import Choice, choose_features
from .messages import Refused, count_text, cut
from .sources import Source, read_table
from .tables import guess_task, take_rows

# What the user typed for an argument of the estimator.
OPTIONS = {
    "n_estimators": "--trees", "random_state": "--seed", "n_jobs": "--jobs", "preset": "--preset",
    "sample_weight": "--weight", "coverage": "--interval",
}  # fmt: skip


def parameters(given: list[str]) -> dict[str, Any]:
    """Return NAME=VALUE pairs; a value is JSON where it can be, else text."""
    found = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals:
            raise Refused(f"--param must be NAME=VALUE; got {cut(pair)}")
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found


class Problem:
    """What is to be learnt."""

    def __init__(
        self, source: Source, choice: Choice, task: str, drop_missing: bool, params: list[str],
        say: Callable[[str], None], arguments: dict[str, Any],
    ) -> None:  # fmt: skip
        table = read_table(source)
        choice.check(table)
        features, left_out = choose_features(table, choice)
        target = table.columns[choice.target]
        as_text = [name for name in choice.categorical if _needs_text(table.columns[name])]
        if task == "classification" and _needs_text(target):
            as_text.append(choice.target)
        rows = take_rows(table, features, choice, drop_missing, as_text)
        self.task, reason = guess_task(target, rows.y, table.label, task)
        if len(rows.y) < 2:
            raise Refused(f"{table.label} has one row: at least two are needed to learn from")
        kept = [name for name in choice.keep if table.columns[name].kind == "text"]  # else free text would be left out
        categories = {*choice.categorical, *table.declared, *kept}
        rows.X = rows.X.astype({name: "category" for name in features if name in categories})
        if left_out is not None:
            warnings.warn(left_out, stacklevel=2)
        for remark in [
            *table.remarks,
            *(f"{table.label}: {text}" for text in table.said_of([*features, choice.target])),
        ]:
            say(remark)
        say(
            f"{table.label}: {count_text(len(rows.X), 'row')}, {count_text(len(features), 'feature')}; target "
            f"{cut(choice.target)}: {self.task}, {reason}"
        )
        self.X, self.weight = rows.X, rows.weight
        self.y = rows.y.to_numpy(dtype=float if self.task == "regression" else None)
        if self.task == "classification" and self.y.dtype == object:
            self.y = self.y.astype(str)
        self.n_rows, self.n_features = self.X.shape
        self.estimator = make_estimator(self.task, arguments | parameters(params))


def make_estimator(task: str, arguments: dict[str, Any]) -> Any:
    """Return the forest for a task."""
    make = BoostForestClassifier if task == "classification" else BoostForestRegressor
    wrong = [name for name in arguments if name not in make._get_param_names()]
    if wrong:
        raise Refused(f"--param {cut(wrong[0])} is not an argument of {make.__name__}")
    return make(**arguments)


def _needs_text(column: Any) -> bool:
    return column.trouble is not None or column.kind in ("text", "time")
