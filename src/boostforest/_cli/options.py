"""The options of the commands, each said once."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .messages import Refused, cut, some


class Task(StrEnum):
    """What is predicted."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class Preset(StrEnum):
    """Which forest."""

    best = "best"
    fast = "fast"
    paper = "paper"


class Dtype(StrEnum):
    """Type of stored coefficients."""

    float64 = "float64"
    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


class Format(StrEnum):
    """What a model is converted to."""

    onnx = "onnx"
    c = "c"


class ExportDtype(StrEnum):
    """Type of the numbers of a converted model."""

    float64 = "float64"
    float32 = "float32"


class Decimal(StrEnum):
    """What separates whole numbers from decimals."""

    point = "."
    comma = ","


_TABLE = "CSV, Parquet (a folder too), JSON or SQLite file, with names of columns; - is standard input."
Table = Annotated[Path | None, typer.Argument(metavar="TABLE", help=_TABLE, show_default=False)]
Tables = Annotated[
    list[Path] | None,
    typer.Argument(metavar="TABLE", help=f"{_TABLE} Several Parquet files are one table.", show_default=False),
]
OutOfCore = Annotated[
    bool | None,
    typer.Option(
        "--out-of-core/--in-memory",
        help="Read Parquet files in parts, or whole. [default: in parts if they do not fit into memory]",
        show_default=False,
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that `boostforest fit` wrote.")]
Target = Annotated[list[str], typer.Option("--target", "-t", help="Column to predict.")]
TaskOption = Annotated[Task, typer.Option(help="What the target is; auto looks at it, and says what it found.")]
Trees = Annotated[int, typer.Option(min=1, help="Number of trees.")]
PresetOption = Annotated[
    Preset, typer.Option(help="best: most accurate; fast: a single stage; paper: the paper's forest.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same forest.")]
Jobs = Annotated[int, typer.Option(min=-1024, max=1024, help="Threads; -1: all processors.")]
Categorical = Annotated[list[str], typer.Option(help="Column that holds categories though it looks like numbers.")]
Drop = Annotated[list[str], typer.Option(help="Column to leave out.")]
Keep = Annotated[list[str], typer.Option(help="Column to use though it looks like an identifier or free text.")]
Id = Annotated[list[str], typer.Option("--id", help="Column that identifies rows: not a feature.")]
IdBeside = Annotated[list[str], typer.Option("--id", help="Column of the table to write beside the predictions.")]
Weight = Annotated[str | None, typer.Option(help="Column of weights of the rows: not a feature.")]
DropMissing = Annotated[bool, typer.Option("--drop-missing-target", help="Leave out rows without a target.")]
Param = Annotated[list[str], typer.Option("--param", metavar="NAME=VALUE", help="Any other argument of the estimator.")]
Sql = Annotated[str | None, typer.Option(metavar="QUERY", help="Query instead of TABLE: SELECT … FROM 'table.csv'.")]
Sep = Annotated[str | None, typer.Option(help=r"What separates the values of a CSV file, such as ';' or '\t'.")]
DecimalOption = Annotated[
    Decimal | None, typer.Option("--decimal", help="Decimal sign, where the table leaves it open.")
]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the text, such as latin-1.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Nothing but the result and errors.")]


def one_target(names: list[str]) -> str:
    """Return the target; several, of which the command would otherwise take the last, are refused."""
    if len(names) > 1:
        raise Refused(
            f"--target must be given once; got {some(names)}: forests of several targets are fitted in Python, "
            "fit(X, y) with y of as many columns"
        )
    return names[0]


_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgG]?)[bB]?")


def read_size(text: str) -> int:
    """Return the bytes that a size such as 200k or 1.5M stands for."""
    found = _SIZE.fullmatch(text)
    n = 0 if found is None else int(float(found[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[found[2].lower()])
    if n < 1:
        raise Refused(f"--max-bytes must be a size such as 200k, 1.5M or 300000; got {cut(text)}")
    return n
