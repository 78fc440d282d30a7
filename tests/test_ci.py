"""What continuous integration knows of skipped tests: how they are run again, and whether they had to be skipped."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / ".ci" / "skips.py"
pytestmark = pytest.mark.skipif(
    not SCRIPT.is_file() or os.name == "nt", reason="a source distribution has no .ci, and Windows does not run it"
)

ONE_BY_ONE = """
import pytest

def test_that_runs(): pass

@pytest.mark.parametrize("name", ["a b", "c"])
def test_that_needs_something(name):
    pytest.skip("Sometool is not installed")

@pytest.mark.xfail
def test_that_is_expected_to_fail(): assert False
"""
AS_A_WHOLE = """
import pytest
pytest.skip("needs 'Othertool'", allow_module_level=True)
"""


@pytest.fixture(scope="module")
def skips():
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("skips", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with two files of tests and the report of their run."""
    folder = tmp_path_factory.mktemp("ci")
    (folder / "pytest.ini").write_text("[pytest]\njunit_family = xunit1\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_one.py").write_text(ONE_BY_ONE)
    (folder / "tests" / "test_whole.py").write_text(AS_A_WHOLE)
    run(folder, "first.xml")
    return folder


def run(folder, report, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments]
    without_plugins = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=without_plugins)


def test_skipped_tests_are_named_as_pytest_names_them(skips, folder):
    found, n_run = skips.read(folder / "first.xml")
    assert sorted(found) == [
        ("tests/test_one.py::test_that_needs_something[a b]", "Sometool is not installed"),
        ("tests/test_one.py::test_that_needs_something[c]", "Sometool is not installed"),
        ("tests/test_whole.py", "needs 'Othertool'"),
    ]
    assert n_run == 1, "nor is a test run anew that is expected to fail"
    (folder / "ids").write_text("\n".join(skip.node_id for skip in found))
    run(folder, "second.xml", "@ids")
    assert sorted(skips.read(folder / "second.xml")[0]) == sorted(found), "and no other test"


@pytest.mark.parametrize("is_there", [False, True])
def test_a_test_may_not_be_skipped_for_want_of_something_that_is_there(skips, folder, is_there, monkeypatch, capsys):
    monkeypatch.setattr(skips, "NEEDS", {"sometool": lambda: is_there, "third": lambda: True})
    assert skips.check(folder / "first.xml") == int(is_there)
    said = capsys.readouterr().out
    assert "1 tests that were skipped before were run; 3 are still skipped:\n  2 x Sometool is not installed\n" in said
    assert ("[c] is skipped although what it needs is installed" in said) is is_there
