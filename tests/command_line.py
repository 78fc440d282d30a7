"""Runs the command line within a test, where its packages are installed."""

import pytest

for _package in ("pandas", "pyarrow", "duckdb", "typer", "rich"):
    pytest.importorskip(_package)

from typer.testing import CliRunner  # noqa: E402

from boostforest._cli.commands import app  # noqa: E402


def run(*arguments, status=0, data=None):
    """Run one command; return what it printed on standard output and on standard error."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=data)
    assert result.exit_code == status, result.output
    return result.stdout, result.stderr


def refused(*arguments, remarks=False, **options):
    """Return the one sentence that a command is refused with, maybe after remarks on the table."""
    out, said = run(*arguments, status=1, **options)
    *before, last = said.splitlines()
    assert out == "" and last.startswith("error: ") and (remarks or not before) and said.count("error: ") == 1
    return last.removeprefix("error: ").strip()
