"""Where the datasets are: not in the repository, but in a folder of Parquet files."""

import argparse
import os
from pathlib import Path

DATA_DIR = Path(os.environ.get("BOOSTFOREST_DATA") or "datasets")
ANOTHER_FOLDER = "name the folder that has it with --data DIR or BOOSTFOREST_DATA"


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the data folder."""
    text = "folder of Parquet files (default: the one that BOOSTFOREST_DATA names, else %(default)s)"
    parser.add_argument("--data", type=Path, default=DATA_DIR, metavar="DIR", help=text)
