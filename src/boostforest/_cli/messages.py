"""How things are said: one sentence for what the user has to change, values cut to a readable length."""

import math
import os
import re
from collections.abc import Iterable

LONGEST = 40  # characters of a cell in a message
_QUOTED = re.compile(rf"(['\"])([^'\"]{{{LONGEST + 20},}})\1")


class Refused(Exception):
    """What the user has to change, in one sentence."""


def cut(value: object) -> str:
    """Return a value as a message shows it: quoted, on one line, not longer than needed."""
    text = str(value)
    return repr(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def cut_name(name: str) -> str:
    """Return a name as it is typed in a command."""
    return name if name.replace("_", "").isalnum() else cut(name)


def cut_quotes(sentence: str) -> str:
    """Return a sentence of somebody else's on one line, with long quoted cells cut, but not paths."""
    return _QUOTED.sub(
        lambda m: m[0] if os.path.exists(m[2]) else f"{m[1]}{m[2][: LONGEST - 1]}…{m[1]}", " ".join(sentence.split())
    )


def some(names: Iterable[object], most: int = 8) -> str:
    """Return some names, quoted, and how many more there are."""
    quoted = [cut(name) for name in names]
    shown = ", ".join(quoted[:most])
    return shown if len(quoted) <= most else f"{shown} and {len(quoted) - most} more"


def number_text(value: float) -> str:
    """Return a number as people write it: 79,740 or 0.01234; powers of ten only where nothing else can be read."""
    size = abs(value)
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-6 <= size < 1e15:
        return f"{value:.4g}"
    decimals = max(0, 3 - math.floor(math.log10(size)))  # four digits that count
    return f"{value:,.{decimals}f}" if decimals == 0 else f"{value:,.{decimals}f}".rstrip("0").rstrip(".")


def count_text(n: int, noun: str) -> str:
    """Return a number of things: 1 row, 20,000 rows."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
