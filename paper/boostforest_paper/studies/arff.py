"""A small reader of ARFF files, as Weka's examples are: dense, with numeric and nominal attributes."""

import csv
import re
from pathlib import Path

import pandas as pd

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\S+)\s+(.+)", re.IGNORECASE)


def read(path: Path) -> pd.DataFrame:
    """Return the table: nominal attributes as categories, "?" as missing.

    SciPy has a reader too, but it refuses ``soybean.arff``, where a nominal value is declared with a space before it.
    """
    nominal: dict[str, bool] = {}
    rows = []
    in_data = False
    for line in map(str.strip, path.read_text(encoding="utf-8").splitlines()):
        if not line or line.startswith("%"):
            continue
        if in_data:
            rows.append([value.strip() for value in next(csv.reader([line], quotechar="'", skipinitialspace=True))])
        elif match := _ATTRIBUTE.match(line):
            nominal[match[1].strip("'")] = match[2].startswith("{")
        in_data = in_data or line.lower().startswith("@data")
    frame = pd.DataFrame(rows, columns=list(nominal)).replace("?", None)
    return frame.apply(lambda column: column.astype("category") if nominal[column.name] else pd.to_numeric(column))
