"""The commands. Exit status: 0 done, 1 refused (one sentence says why), 2 wrong usage, 130 interrupted."""

import codecs
import contextlib
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__, load_model
from . import evaluation, exports, options, reports, tables
from .features import Choice
from .large import LargeProblem, goes_in_parts
from .messages import Refused, count_text, cut, some
from .problem import Problem
from .saying import err, out, said_plainly, say
from .sources import Source, read_table

app = typer.Typer(
    help="BoostForest on the command line: tables in, models and predictions out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _source(
    table: Path | None, sql: str | None, sep: str | None, decimal: options.Decimal | None, encoding: str | None
) -> Source:
    """Return where the table is and how it is read."""
    if table is None and sql is None:
        raise typer.BadParameter("give a TABLE, or a query with --sql", param_hint="TABLE")
    if sep is not None:
        sep = sep.replace("\\t", "\t")
        if not 1 <= len(sep.encode()) <= 4 or "\n" in sep:
            raise Refused(f"--sep must be one to four characters that separate the values; got {cut(sep)}")
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise Refused(f"--encoding {cut(encoding)} is not known; try utf-8, utf-16, latin-1 or cp1252") from None
    return Source(table, sql, sep, None if decimal is None else decimal.value, encoding)


def _jobs(jobs: int) -> int:
    if jobs == 0:
        raise Refused("--jobs must be a number of threads, or -1 for all processors; got 0")
    return jobs


@app.command()
def fit(
    target: options.Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    table: options.Tables = None,
    task: options.TaskOption = options.Task.auto,
    trees: options.Trees = 250,
    preset: options.PresetOption = options.Preset.best,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    categorical: options.Categorical = [],  # noqa: B006 - typer's way
    drop: options.Drop = [],  # noqa: B006
    keep: options.Keep = [],  # noqa: B006
    id_: options.Id = [],  # noqa: B006
    weight: options.Weight = None,
    drop_missing_target: options.DropMissing = False,
    param: options.Param = [],  # noqa: B006
    dtype: Annotated[
        options.Dtype | None, typer.Option(help="Type of the stored coefficients. [default: the model's]")
    ] = None,
    out_of_core: options.OutOfCore = None,
    sql: options.Sql = None,
    sep: options.Sep = None,
    decimal: options.DecimalOption = None,
    encoding: options.Encoding = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit a forest to a table and save it."""
    with said_plainly(quiet, param):
        name = options.one_target(target)
        source = _source(table[0] if table else None, sql, sep, decimal, encoding)
        source = replace(source, others=tuple(table[1:] if table else ()))
        if str(output) == "-":
            raise Refused("--output - cannot be: a model is a file; name one")
        tables.check_output(output, source)
        in_parts = goes_in_parts(source, out_of_core)
        grown_as = {"dtype": dtype.value} if in_parts and dtype is not None else {}  # a smaller forest from the start
        problem = (LargeProblem if in_parts else Problem)(
            source, Choice(name, drop, keep, categorical, id_, weight), task.value, drop_missing_target, param,
            lambda text: say(text, quiet or as_json),
            {"n_estimators": trees, "preset": preset.value, "random_state": seed, "n_jobs": _jobs(jobs),
             "oob_score": True, "verbose": int(sys.stderr.isatty() and not quiet), **grown_as},
        )  # fmt: skip
        start = time.perf_counter()
        model = problem.estimator.fit(problem.X, problem.y, sample_weight=problem.weight)
        seconds = time.perf_counter() - start
        model.set_params(verbose=0, n_jobs=None).save_model(output, dtype and dtype.value)
        score = getattr(model, "oob_score_", None)
        report = {
            "model": str(output),
            "task": problem.task,
            "n_rows": problem.n_rows,
            "n_features": problem.n_features,
            "out_of_core": in_parts,
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
        values["time"] = f"{seconds:.2f} s for {count_text(model.forest_.n_trees, 'tree')}"
        values["model"] = f"{output}, {reports.bytes_text(report['bytes'])}"
        reports.print_values(out, values)
        reports.print_importances(out, report["top_features"])
    return None


@app.command()
def predict(
    model: options.Model,
    table: options.Table = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV or Parquet file to write; else CSV goes to the screen.")
    ] = None,
    id_: options.IdBeside = [],  # noqa: B006
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes as well.")] = False,
    interval: Annotated[
        float | None, typer.Option(metavar="COVERAGE", help="Ends of intervals that hold the target so often (0.9).")
    ] = None,
    jobs: options.Jobs = -1,
    sql: options.Sql = None,
    sep: options.Sep = None,
    decimal: options.DecimalOption = None,
    encoding: options.Encoding = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the rows of a table with a saved model."""
    with said_plainly(quiet):
        source = _source(table, sql, sep, decimal, encoding)
        if output is not None and str(output) == "-":
            output = None
        tables.check_output(output, source, model)
        if output is not None:
            tables.check_table_ending(output)
        estimator = _loaded(model, jobs)
        if proba and not hasattr(estimator, "predict_proba"):
            raise Refused(f"--proba needs a classifier; {model} holds a {type(estimator).__name__}")
        if interval is not None and not hasattr(estimator, "predict_interval"):
            raise Refused(f"--interval needs a forest for regression; {model} holds a {type(estimator).__name__}")
        read = read_table(source)
        names, as_text = tables.model_features(read, estimator)
        X, found = read.frame(names, as_text), tables.id_columns(read, id_)
        for remark in [
            *read.remarks,
            *(f"{read.label}: {text}" for text in read.said_of(set(names) - set(as_text))),
        ]:
            say(remark, quiet or as_json)
        unused = [name for name in read.columns if name not in {*names, *id_}]
        if unused:
            say(f"{read.label}: not used: {some(unused)}", quiet or as_json)
        new: dict[str, Any] = {}
        n_targets = reports.count_targets(estimator)
        for k in range(n_targets):
            own, of = (estimator, "") if n_targets == 1 else (estimator.get_target(k), f"_{k}")
            new[f"prediction{of}"] = own.predict(X)
            if proba:
                probability = own.predict_proba(X)
                new |= {f"probability{of}_{label}": probability[:, c] for c, label in enumerate(own.classes_)}
            if interval is not None:
                ends = own.predict_interval(X, coverage=interval)
                new |= {f"lower{of}": ends[:, 0], f"upper{of}": ends[:, 1]}
        twice = [name for name in id_ if name in new]
        if twice:
            raise Refused(f"--id {cut(twice[0])} has the name of a column that is written: rename it in the table")
        found = found.assign(**new)
        if output is not None:
            tables.write_table(found, output)
            report = {"output": str(output), "n_rows": len(found)}
            return reports.print_json(report) if as_json else say(f"{output}: {count_text(len(found), 'row')}", quiet)
        if as_json:
            return reports.print_json(found.to_dict(orient="list"))
        found.to_csv(sys.stdout, index=False)
    return None


@app.command()
def score(
    model: options.Model,
    target: options.Target,
    table: options.Table = None,
    weight: options.Weight = None,
    drop_missing_target: options.DropMissing = False,
    jobs: options.Jobs = -1,
    sql: options.Sql = None,
    sep: options.Sep = None,
    decimal: options.DecimalOption = None,
    encoding: options.Encoding = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare a saved model's predictions with a table that has the target."""
    with said_plainly(quiet):
        name = options.one_target(target)
        source = _source(table, sql, sep, decimal, encoding)
        estimator = _loaded_of_one(model, jobs)
        read, rows, y = _rows_with_target(source, estimator, model, Choice(name, weight=weight), drop_missing_target)
        classes = getattr(estimator, "classes_", None)
        figures = evaluation.figures(estimator, rows.X, y, rows.weight)
        if as_json:
            return reports.print_json({"model": str(model), "n_rows": len(y), "metrics": figures})
        better = evaluation.METRICS["regression" if classes is None else "classification"]
        cells = [[name, reports.figure_text(value), _which(better, name)] for name, value in figures.items()]
        reports.print_table(
            out, f"{model} on {read.label}, {count_text(len(y), 'row')}", ["", "value", "better"], cells
        )
    return None


def _rows_with_target(
    source: Source, estimator: Any, model: Path, choice: Choice, drop_missing: bool
) -> tuple[Any, Any, Any]:
    """Return a table, its rows as a model takes them, and the target as the model knows it."""
    read = read_table(source)
    choice.check(read)
    names, as_text = tables.model_features(read, estimator)
    if choice.target in names:
        raise Refused(f"--target {cut(choice.target)} is a feature of {model}, not what it predicts")
    classes = getattr(estimator, "classes_", None)
    if classes is not None and classes.dtype.kind not in "biuf":
        as_text.append(choice.target)
    rows = tables.take_rows(read, names, choice, drop_missing, as_text)
    return read, rows, tables.known_labels(read.columns[choice.target], rows.y, classes, read.label)


@app.command()
def report(
    model: options.Model,
    target: options.Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")],
    table: options.Table = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="Column that rows are called by. [default: numbers from 1]")
    ] = None,
    weight: options.Weight = None,
    drop_missing_target: options.DropMissing = False,
    jobs: options.Jobs = -1,
    sql: options.Sql = None,
    sep: options.Sep = None,
    decimal: options.DecimalOption = None,
    encoding: options.Encoding = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page about a saved model, judged by a table that has the target: best one that its fit has not seen."""
    with said_plainly(quiet):
        name = options.one_target(target)
        source = _source(table, sql, sep, decimal, encoding)
        if str(output) == "-":
            raise Refused("--output - cannot be: a report is a file; name one")
        tables.check_output(output, source, model)
        estimator = _loaded_of_one(model, jobs)
        choice = Choice(name, weight=weight)
        read, rows, y = _rows_with_target(source, estimator, model, choice, drop_missing_target)
        rows.X.index = tables.row_names(read, name, id_)
        with err.status("writing the report") if not quiet else contextlib.nullcontext():
            estimator.report(rows.X, y, output, sample_weight=rows.weight, title=title, target=name)
        n_bytes = output.stat().st_size
        if as_json:
            return reports.print_json({"output": str(output), "n_rows": len(y), "bytes": n_bytes})
        say(f"{output}: {reports.bytes_text(n_bytes)}, {count_text(len(y), 'row')}", quiet)
    return None


@app.command()
def compress(
    model: options.Model,
    target: options.Target,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
    table: options.Table = None,
    max_bytes: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Largest size of the file: 200k, 1.5M, 300000.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="By what part fewer digits may raise the loss; 0.001: by a thousandth.")
    ] = 0.001,
    drop_missing_target: options.DropMissing = False,
    jobs: options.Jobs = -1,
    sql: options.Sql = None,
    sep: options.Sep = None,
    decimal: options.DecimalOption = None,
    encoding: options.Encoding = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a saved forest smaller, judged by rows that its fit has not seen, or out of bag by its training table."""
    with said_plainly(quiet):
        name = options.one_target(target)
        source = _source(table, sql, sep, decimal, encoding)
        if str(output) == "-":
            raise Refused("--output - cannot be: a model is a file; name one")
        tables.check_output(output, source, model)
        n_bytes = None if max_bytes is None else options.read_size(max_bytes)
        estimator = _loaded_of_one(model, jobs)
        if not hasattr(estimator, "compress"):
            raise Refused(f"compress needs a forest; {model} holds a {type(estimator).__name__}")
        _, rows, y = _rows_with_target(source, estimator, model, Choice(name), drop_missing_target)
        small = estimator.compress(tolerance, n_bytes, rows.X, y)
        small.set_params(n_jobs=None).save_model(output)
        steps = small.compression_report_
        if as_json:
            return reports.print_json({"model": str(output), "bytes": output.stat().st_size, "steps": steps})
        cells = [
            [s["step"], f"{s['n_trees']:,}", reports.bytes_text(s["bytes"]), reports.figure_text(s["loss"])]
            for s in steps
        ]
        other = "RMSE" if small.get_params().get("loss") == "squared_error" else "loss"
        what = "log-loss" if hasattr(small, "classes_") else other
        title = f"{output}, {reports.bytes_text(output.stat().st_size)}"
        reports.print_table(out, title, ["step", "trees", "file", what], cells)
    return None


def _loaded(model: Path, jobs: int) -> Any:
    if str(model) == "-":
        raise Refused("MODEL cannot be standard input; name a model file")
    estimator = load_model(model)
    if "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=_jobs(jobs))
    return estimator


def _loaded_of_one(model: Path, jobs: int) -> Any:
    """Return a model of one target."""
    estimator = _loaded(model, jobs)
    if reports.count_targets(estimator) > 1:
        raise Refused(f"{model} has several targets, and this command takes one: save get_target(i) in Python")
    return estimator


def _which(better: dict[str, bool], name: str) -> str:
    return {True: "more", False: "less"}[better[name]] if name in better else ""


@app.command()
def evaluate(
    target: options.Target,
    table: options.Table = None,
    task: options.TaskOption = options.Task.auto,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation.")] = 5,
    trees: options.Trees = 250,
    preset: options.PresetOption = options.Preset.best,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    categorical: options.Categorical = [],  # noqa: B006
    drop: options.Drop = [],  # noqa: B006
    keep: options.Keep = [],  # noqa: B006
    id_: options.Id = [],  # noqa: B006
    weight: options.Weight = None,
    drop_missing_target: options.DropMissing = False,
    param: options.Param = [],  # noqa: B006
    sql: options.Sql = None,
    sep: options.Sep = None,
    decimal: options.DecimalOption = None,
    encoding: options.Encoding = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Cross-validate a forest on a table."""
    with said_plainly(quiet, param):
        name = options.one_target(target)
        problem = Problem(
            _source(table, sql, sep, decimal, encoding), Choice(name, drop, keep, categorical, id_, weight),
            task.value, drop_missing_target, param, lambda text: say(text, quiet or as_json),
            {"n_estimators": trees, "preset": preset.value, "random_state": seed, "n_jobs": _jobs(jobs)},
        )  # fmt: skip
        results = []
        with err.status("cross-validating") if not quiet else contextlib.nullcontext() as status:
            for figures in evaluation.cross_validate(
                problem.estimator, problem.X, problem.y, problem.weight, folds, seed
            ):
                results.append(figures)
                if status is not None:
                    status.update(f"cross-validating: {len(results)} of {folds} folds done")
        summary = evaluation.summarise(results)
        if as_json:
            return reports.print_json({"task": problem.task, "folds": results, "summary": summary})
        better = evaluation.METRICS[problem.task]
        rows = [[name, *map(reports.figure_text, s.values()), _which(better, name)] for name, s in summary.items()]
        reports.print_table(out, f"{folds}-fold cross-validation", ["", "mean", "standard deviation", "better"], rows)
    return None


@app.command()
def inspect(
    model: options.Model,
    top: Annotated[int, typer.Option(min=1, help="Number of features to show.")] = 15,
    as_json: options.Json = False,
) -> None:
    """Say what is in a model file."""
    with said_plainly():
        report = reports.describe(model, load_model(model), top)
        return reports.print_json(report) if as_json else reports.print_description(out, report)


@app.command()
def export(
    model: options.Model,
    to: Annotated[options.Format, typer.Option("--to", help="What to write.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    dtype: Annotated[
        options.ExportDtype, typer.Option(help="Type of the numbers that go in and come out, and of coefficients.")
    ] = options.ExportDtype.float64,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert a model file for other programs."""
    with said_plainly(quiet):
        exports.check_output(model, output)
        exports.write(load_model(model), to.value, dtype.value, output)
        n_bytes = output.stat().st_size
        if as_json:
            return reports.print_json({"output": str(output), "to": to.value, "dtype": dtype.value, "bytes": n_bytes})
        say(f"{output}: {reports.bytes_text(n_bytes)}", quiet)
    return None


def _version(asked: bool) -> None:
    if asked:
        out.print(f"boostforest {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass
