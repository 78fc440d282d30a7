"""The four commands. Exit status: 0 done, 1 refused (one sentence says why), 2 wrong usage, 130 interrupted."""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape

from .. import BoostForestClassifier, BoostForestRegressor, __version__, load_model
from . import evaluation, reports, tables
from .tables import Refused

app = typer.Typer(
    help="BoostForest on the command line: tables in, models and predictions out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console()
err = Console(stderr=True)


class Task(StrEnum):
    """What is predicted."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class Preset(StrEnum):
    """Which forest."""

    paper = "paper"
    best = "best"


class Dtype(StrEnum):
    """Type of stored coefficients."""

    float64 = "float64"
    float32 = "float32"
    float16 = "float16"


Table = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV or Parquet file, with names of columns.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that `boostforest fit` wrote.")]
Target = Annotated[str, typer.Option("--target", "-t", help="Column to predict.")]
TaskOption = Annotated[Task, typer.Option(help="What the target is; auto looks at it, and says what it found.")]
Trees = Annotated[int, typer.Option(min=1, help="Number of trees.")]
PresetOption = Annotated[Preset, typer.Option(help="best: more accurate, for about 2.5 times the time.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same forest.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1: all processors.")]
Categorical = Annotated[list[str], typer.Option(help="Column that holds categories though it looks like numbers.")]
Drop = Annotated[list[str], typer.Option(help="Column to leave out.")]
DropMissing = Annotated[bool, typer.Option("--drop-missing-target", help="Leave out rows without a target.")]
Param = Annotated[list[str], typer.Option("--param", metavar="NAME=VALUE", help="Any other argument of the estimator.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no remarks.")]


@contextlib.contextmanager
def _said_plainly() -> Iterator[None]:
    """Turn what users can cause into one sentence and exit status 1, and warnings into remarks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except BrokenPipeError:  # whoever read the output has seen enough
            sys.stdout = None
            raise typer.Exit(0) from None
        except (Refused, ValueError, TypeError, OSError, MemoryError) as error:
            text = str(error) or type(error).__name__
            if isinstance(error, OSError) and error.filename is not None:
                text = f"{error.filename}: {error.strerror}"
            err.print(f"[red]error:[/] {escape(text)}", soft_wrap=True)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            err.print("interrupted")
            raise typer.Exit(130) from None
        finally:
            for warning in caught:
                err.print(f"[yellow]warning:[/] {escape(str(warning.message))}", soft_wrap=True)


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        err.print(escape(text), soft_wrap=True, highlight=False)


def _parameters(given: list[str]) -> dict[str, Any]:
    """Return NAME=VALUE pairs; a value is JSON where it can be, else text."""
    found = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals:
            raise Refused(f"--param must be NAME=VALUE; got {pair!r}")
        try:
            found[name] = json.loads(text)
        except json.JSONDecodeError:
            found[name] = text
    return found


class _Problem:
    """The table of a fit or an evaluation, and the estimator for it."""

    def __init__(
        self,
        path: Path,
        target: str,
        task: Task,
        *,
        drop: list[str],
        drop_missing: bool,
        categorical: list[str],
        params: list[str],
        quiet: bool,
        **arguments: Any,
    ) -> None:
        frame = tables.read_table(path)
        unknown = [name for name in drop if name not in frame.columns or name == target]
        if unknown:
            raise Refused(f"--drop {unknown[0]!r} is no column of {path} besides the target")
        self.X, y = tables.take_target(frame.drop(columns=drop), target, path, drop_missing)
        tables.check_columns(self.X, path, categorical)
        self.task, reason = tables.guess_task(y) if task is Task.auto else (task.value, "as you say")
        if self.task == "regression" and not pd.api.types.is_numeric_dtype(y.dtype):
            raise Refused(f"--task regression needs numbers; the target {target!r} holds {y.iloc[0]!r}")
        _say(f"{path}: {len(self.X)} rows, {self.X.shape[1]} features; target {target!r}: {self.task}, {reason}", quiet)
        self.y = y.to_numpy(dtype=float if self.task == "regression" else None)
        if self.task == "classification" and self.y.dtype == object:
            self.y = self.y.astype(str)
        for name in categorical:
            self.X[name] = self.X[name].astype("category")
        make = BoostForestClassifier if self.task == "classification" else BoostForestRegressor
        arguments |= _parameters(params)
        wrong = [name for name in arguments if name not in make._get_param_names()]
        if wrong:
            raise Refused(f"--param {wrong[0]!r} is no argument of {make.__name__}")
        self.estimator = make(**arguments)


@app.command()
def fit(
    table: Table,
    target: Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    task: TaskOption = Task.auto,
    trees: Trees = 250,
    preset: PresetOption = Preset.paper,
    seed: Seed = 0,
    jobs: Jobs = -1,
    categorical: Categorical = [],  # noqa: B006 - typer's way
    drop: Drop = [],  # noqa: B006
    drop_missing_target: DropMissing = False,
    param: Param = [],  # noqa: B006
    dtype: Annotated[Dtype | None, typer.Option(help="Type of the stored coefficients. [default: the model's]")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a forest to a table and save it."""
    with _said_plainly():
        if not output.parent.is_dir():
            raise Refused(f"--output {output}: there is no folder {output.parent}")
        problem = _Problem(
            table, target, task, drop=drop, drop_missing=drop_missing_target, categorical=categorical, params=param,
            quiet=quiet or as_json, n_estimators=trees, preset=preset.value, random_state=seed, n_jobs=jobs,
            oob_score=True, verbose=int(sys.stderr.isatty() and not quiet),
        )  # fmt: skip
        start = time.perf_counter()
        model = problem.estimator.fit(problem.X, problem.y)
        seconds = time.perf_counter() - start
        model.set_params(verbose=0, n_jobs=None).save_model(output, dtype and dtype.value)
        score = getattr(model, "oob_score_", None)
        report = {
            "model": str(output),
            "task": problem.task,
            "n_rows": len(problem.X),
            "n_features": problem.X.shape[1],
            "n_trees": model.forest_.n_trees,
            "fit_seconds": seconds,
            "oob_score": score,
            "bytes": output.stat().st_size,
            "top_features": reports.importances(model, 10),
        }
        if as_json:
            return reports.print_json(report)
        what = "accuracy" if problem.task == "classification" else "R²"
        values = {f"out-of-bag {what}": f"{score:.4f}"} if score is not None else {}
        values["time"] = f"{seconds:.2f} s for {model.forest_.n_trees} trees"
        values["model"] = f"{output}, {reports.bytes_text(report['bytes'])}"
        reports.print_values(out, values)
        reports.print_importances(out, report["top_features"])
    return None


@app.command()
def predict(
    model: Model,
    table: Table,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV or Parquet file to write; else CSV goes to the screen.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes as well.")] = False,
    interval: Annotated[
        float | None, typer.Option(metavar="COVERAGE", help="Ends of intervals that hold the target so often (0.9).")
    ] = None,
    jobs: Jobs = -1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a table with a saved model."""
    with _said_plainly():
        estimator = load_model(model)
        if "n_jobs" in estimator.get_params():
            estimator.set_params(n_jobs=jobs)
        names = getattr(estimator, "feature_names_in_", None)
        X, unknown = tables.select_features(
            tables.read_table(table), None if names is None else [str(name) for name in names], table
        )
        if unknown:
            _say(f"{table}: not used: {', '.join(unknown[:8])}{' …' if len(unknown) > 8 else ''}", quiet or as_json)
        found = pd.DataFrame({"prediction": estimator.predict(X)})
        if proba:
            if not hasattr(estimator, "predict_proba"):
                raise Refused(f"--proba needs a classifier; {model} holds a {type(estimator).__name__}")
            probability = estimator.predict_proba(X)
            for c, label in enumerate(estimator.classes_):
                found[f"probability_{label}"] = probability[:, c]
        if interval is not None:
            if not hasattr(estimator, "predict_interval"):
                raise Refused(f"--interval needs a forest for regression; {model} holds a {type(estimator).__name__}")
            found[["lower", "upper"]] = estimator.predict_interval(X, coverage=interval)
        if output is not None:
            tables.write_table(found, output)
            report = {"output": str(output), "n_rows": len(found)}
            return reports.print_json(report) if as_json else _say(f"{output}: {len(found)} rows", quiet)
        if as_json:
            return reports.print_json(found.to_dict(orient="list"))
        found.to_csv(sys.stdout, index=False)
    return None


@app.command()
def evaluate(
    table: Table,
    target: Target,
    task: TaskOption = Task.auto,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation.")] = 5,
    trees: Trees = 250,
    preset: PresetOption = Preset.paper,
    seed: Seed = 0,
    jobs: Jobs = -1,
    categorical: Categorical = [],  # noqa: B006
    drop: Drop = [],  # noqa: B006
    drop_missing_target: DropMissing = False,
    param: Param = [],  # noqa: B006
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Cross-validate a forest on a table."""
    with _said_plainly():
        problem = _Problem(
            table, target, task, drop=drop, drop_missing=drop_missing_target, categorical=categorical, params=param,
            quiet=quiet or as_json, n_estimators=trees, preset=preset.value, random_state=seed, n_jobs=jobs,
        )  # fmt: skip
        results = []
        with err.status("cross-validating") if not quiet else contextlib.nullcontext() as status:
            for figures in evaluation.cross_validate(problem.estimator, problem.X, problem.y, folds, seed):
                results.append(figures)
                if status is not None:
                    status.update(f"cross-validating: {len(results)} of {folds} folds done")
        summary = evaluation.summarise(results)
        if as_json:
            return reports.print_json({"task": problem.task, "folds": results, "summary": summary})
        better = evaluation.METRICS[problem.task]
        rows = [
            [name, f"{s['mean']:.4f}", f"{s['deviation']:.4f}", {True: "more", False: "less"}.get(better.get(name), "")]  # type: ignore[arg-type]
            for name, s in summary.items()
        ]
        reports.print_table(out, f"{folds}-fold cross-validation", ["", "mean", "deviation", "better"], rows)
    return None


@app.command()
def inspect(
    model: Model,
    top: Annotated[int, typer.Option(min=1, help="Number of features to show.")] = 15,
    as_json: Json = False,
) -> None:
    """Say what is in a model file."""
    with _said_plainly():
        report = reports.describe(model, load_model(model), top)
        return reports.print_json(report) if as_json else reports.print_description(out, report)


def _version(asked: bool) -> None:
    if asked:
        out.print(f"boostforest {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass
