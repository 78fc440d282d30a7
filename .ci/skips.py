"""The tests that a run of pytest skipped, from its report; and whether they had to be.

    python .ci/skips.py ids FIRST.xml       # print the node ids, one per line, to run them again
    python .ci/skips.py check SECOND.xml    # list what was run and what was not; status 1 if it could have been

The reports are those of ``pytest -o junit_family=xunit1 --junitxml FILE``. ``check`` runs in the environment of the
tests: a test may be skipped for want of something that is not there, but not for want of something that is.
"""

import argparse
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import fuzz_c
import weka


def has_package(name: str) -> Callable[[], bool]:
    """Return a function that tells whether a package can be imported."""
    return lambda: find_spec(name) is not None


# What a reason names, and whether it is there.
NEEDS: dict[str, Callable[[], bool]] = {
    "torch": has_package("torch"),
    "xgboost": has_package("xgboost"),
    "lightgbm": has_package("lightgbm"),
    "catboost": has_package("catboost"),
    "onnx": has_package("onnx"),
    "onnxruntime": has_package("onnxruntime"),
    "skl2onnx": has_package("skl2onnx"),
    "shap": has_package("shap"),
    "quantile_forest": has_package("quantile_forest"),
    "ngboost": has_package("ngboost"),
    "emscripten": lambda: shutil.which("emcc") is not None,
    "node.js": lambda: shutil.which("node") is not None,
    "chromium": lambda: any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    "clang is": lambda: "clang" in fuzz_c.compilers(),
    "rustc is": lambda: shutil.which("rustc") is not None,
    "distributed": has_package("distributed"),
    "ray": has_package("ray"),
    "joblibspark": has_package("joblibspark"),
    "fastapi": has_package("fastapi"),
    "httpx": has_package("httpx"),
    "mlflow": has_package("mlflow"),
    "weka": lambda: weka.why_not() is None,
    "java": lambda: weka.why_not() is None,
    # A module of the library that only an optional package can have kept from being imported.
    "unable to import module": lambda: find_spec("torch") is not None and find_spec("xgboost") is not None,
}


class Skip(NamedTuple):
    """A test, or a whole file, that was not run."""

    node_id: str
    reason: str


def read(report: Path) -> tuple[list[Skip], int]:
    """Return what was skipped, and how many tests were run."""
    skipped, n_run = [], 0
    for case in ET.parse(report).iter("testcase"):
        found = case.find("skipped")
        if found is None:
            n_run += 1
        elif found.get("type") != "pytest.xfail":
            skipped.append(Skip(_node_id(case), _reason(found)))
    return skipped, n_run


def _node_id(case: ET.Element) -> str:
    """Return how pytest calls a test; the file if that was skipped as a whole."""
    return f"{case.get('file')}::{case.get('name')}" if case.get("classname") else case.get("file", "")


def _reason(skipped: ET.Element) -> str:
    """Return why; of a file the report has it within the text alone."""
    within = re.search(r"Skipped: (.*?)['\"]?\)?$", skipped.text or "", re.DOTALL)
    return within[1] if skipped.get("message") == "collection skipped" and within else skipped.get("message", "")


def could_have_run(reason: str) -> bool:
    """Tell whether everything is there that a reason names."""
    named = [is_there for word, is_there in NEEDS.items() if word in reason.lower()]
    return bool(named) and all(is_there() for is_there in named)


def check(report: Path) -> int:
    """Print what was run and what was not; 1 if something could have been."""
    skipped, n_run = read(report)
    print(f"{n_run} tests that were skipped before were run; {len(skipped)} are still skipped:")
    for reason, n in Counter(skip.reason for skip in skipped).most_common():
        print(f"  {n} x {reason}")
    wrong = [skip for skip in skipped if could_have_run(skip.reason)]
    for skip in wrong:
        print(f"{skip.node_id} is skipped although what it needs is installed: {skip.reason}")
    return 1 if wrong else 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["ids", "check"])
    parser.add_argument("report", type=Path)
    args = parser.parse_args()
    if args.command == "check":
        return check(args.report)
    print("\n".join(skip.node_id for skip in read(args.report)[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
