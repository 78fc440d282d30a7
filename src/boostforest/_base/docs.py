"""One filler for docstrings: words in braces, sections that follow from declared arguments, what all methods take."""

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

_PLACE = re.compile(r"(^ *)?\{(\w+)\}", re.MULTILINE)

_WORDS = {
    "references": """\
References
----------
.. [1] C. Zhao, D. Wu, J. Huang, Y. Yuan, H.-T. Zhang, R. Peng, Z. Shi, "BoostTree and BoostForest for ensemble
   learning", IEEE Transactions on Pattern Analysis and Machine Intelligence, 2022.""",
}

# What arguments are that many methods take; a method that means something else by them says so itself.
_COMMON = {
    "X": """\
X : array-like of shape (n_samples, n_features)
    Rows with the columns of the training table.
""",
    "sample_weight": """\
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the rows.
""",
    "offset": """\
offset : float or array-like of shape (n_samples,), or (n_samples, n_outputs) of several outputs, default=None
    As in `fit`; None: 0.
""",
}


def fill(text: str, words: Mapping[str, str]) -> str:
    """Put words where a text has their names in braces; one that begins a line is indented like it."""

    def put(place: re.Match[str]) -> str:
        indent, name = place.groups(default="")
        return textwrap.indent(words[name].rstrip(), indent) if name in words else place[0]

    return _PLACE.sub(put, text)


def fill_docstring(words: Mapping[str, str]) -> Callable[[Class], Class]:
    """Fill the docstring of a class."""

    def filled(cls: Class) -> Class:
        cls.__doc__ = fill(cls.__doc__ or "", words)
        return cls

    return filled


def _words_of(cls: type, arguments: list[tuple[str, str, Any]]) -> dict[str, str]:
    """Return the words of a class, and the sections on its arguments (name, text, default) and attributes.

    ``_words`` and ``_attributes`` of the classes above it come first, so that a class may say it in other words.
    """
    words, attributes = dict(_WORDS), ""
    for part in reversed(cls.__mro__):
        words |= vars(part).get("_words", {})
        attributes += vars(part).get("_attributes", "")
    entries = "\n".join(f"{name} : {_entry(fill(doc, words), default)}" for name, doc, default in arguments)
    words["parameters"] = f"Parameters\n----------\n{entries}"
    words["attributes"] = f"Attributes\n----------\n{fill(attributes, words).rstrip()}"
    return words


def _entry(doc: str, default: Any) -> str:
    kind, _, text = doc.partition("\n")
    shown = "" if default is MISSING else f", default={_shown(default)}"
    lines = [f"{kind}{shown}", "   "]
    for word in text.split():  # textwrap takes ten times as long, at every import
        lines += [f"    {word}"] if len(lines[-1]) + len(word) > 115 else [f"{lines.pop()} {word}"]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, tuple) and len(value) > 5:
        return f"({value[0]}, {value[1]}, …, {value[-1]})"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def fill_docstrings(cls: type, arguments: list[tuple[str, str, Any]]) -> None:
    """Fill the docstring of a class, and those of its public methods with the arguments that they leave out."""
    fill_docstring(_words_of(cls, arguments))(cls)
    for part in cls.__mro__:
        for name, method in vars(part).items():
            if inspect.isfunction(method) and not name.startswith("_") and method.__module__.startswith("boostforest"):
                _add_arguments(method)


def _add_arguments(method: Any) -> None:
    """Say what common arguments are in the docstring of a method that leaves them out: X first, the others last."""
    doc, code = method.__doc__ or "", inspect.unwrap(method).__code__
    result = re.search(r"^( *)(Returns|Yields)$", doc, re.MULTILINE)
    taken = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    left_out = [
        name for name in _COMMON if name in taken and not re.search(rf"^ *[\w, ]*\b{name}\b[\w, ]* : ", doc, re.M)
    ]
    if not result or not left_out:
        return
    entries = {name: textwrap.indent(_COMMON[name], result[1]) for name in left_out}
    head = textwrap.indent("Parameters\n----------\n", result[1])
    before, _, own = doc[: result.start()].partition(head)
    last = "".join(entry for name, entry in entries.items() if name != "X")
    own = own.rstrip() + "\n" if own else ""
    method.__doc__ = f"{before}{head}{entries.get('X', '')}{own}{last}\n{doc[result.start() :]}"
