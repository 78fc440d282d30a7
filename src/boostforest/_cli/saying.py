"""Two consoles, and what becomes of errors and warnings."""

import contextlib
import re
import sys
import warnings
from collections.abc import Iterator

import typer
from rich.console import Console
from rich.markup import escape

from .messages import Refused, cut_quotes
from .problem import OPTIONS

out = Console()
err = Console(stderr=True)


@contextlib.contextmanager
def said_plainly(quiet: bool = False, params: list[str] | None = None) -> Iterator[None]:
    """Turn what users can cause into one sentence and exit status 1, and warnings into remarks."""
    typed = params or []

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if not quiet:
            err.print(f"[yellow]warning:[/] {escape(_sentence(message, typed))}", soft_wrap=True, highlight=False)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        try:
            yield
        except BrokenPipeError:  # whoever read the output has seen enough
            sys.stdout = None
            raise typer.Exit(0) from None
        except (Refused, ValueError, TypeError, OverflowError, OSError, MemoryError, ImportError) as error:
            err.print(f"[red]error:[/] {escape(_sentence(error, typed))}", soft_wrap=True, highlight=False)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            err.print("interrupted")
            raise typer.Exit(130) from None


def say(text: str, quiet: bool) -> None:
    """Make a remark."""
    if not quiet:
        err.print(escape(text), soft_wrap=True, highlight=False)


def _sentence(said: Exception | str, params: list[str]) -> str:
    """Return what an error or a warning says, in terms of the command line."""
    if isinstance(said, OSError) and said.filename is not None:
        return f"{said.filename}: {said.strerror}"
    text = str(said) or type(said).__name__
    return text if isinstance(said, Refused) else cut_quotes(_as_typed(text, params))


def _as_typed(text: str, params: list[str]) -> str:
    """Return a sentence of the library with the options that the user typed in place of its arguments."""
    given = {pair.partition("=")[0] for pair in params}
    names = "|".join(name for name in OPTIONS if name not in given)
    return re.sub(
        rf"\b({names})(?:=['\"]?(\w+)['\"]?)?(?!\w)", lambda m: OPTIONS[m[1]] + (f" {m[2]}" if m[2] else ""), text
    )
