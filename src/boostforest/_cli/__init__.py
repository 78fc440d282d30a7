"""The command ``boostforest``: fit, predict, evaluate, inspect and export without writing Python."""

import sys


def main() -> None:
    """Run the command line; what it is made with is an extra."""
    try:
        from .commands import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich", "pandas", "pyarrow"):
            raise
        sys.exit(f'The command line needs {error.name}: pip install "boostforest[cli]"')
    app(prog_name="boostforest")
