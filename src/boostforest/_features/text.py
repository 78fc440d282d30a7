"""Columns of free text as features, and columns that no feature is made of."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.utils import murmurhash3_32

from .._base.typing import Floats

N_HASHED = 64  # features of a text; part of model files
WORD = re.compile(r"\w+")

CHOICES = ("drop", "hash", "category")


@dataclass(frozen=True, eq=False)
class LeftOutColumn:
    """A column that no feature is made of."""

    n_features: int = 0


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of free text: how often words occur, by signed hashing, each row of length 1 (0 without a word)."""

    n_features: int = N_HASHED

    def features(self, texts: Sequence[Any]) -> Floats:
        """Return the features of texts, None where one is missing: rows × features."""
        out = np.zeros((len(texts), N_HASHED))
        for row, text in zip(out, texts, strict=True):
            for word in WORD.findall(text.lower()) if isinstance(text, str) else ():
                place, sign = _place(word)
                row[place] += sign
        length = np.sqrt((out**2).sum(axis=1, keepdims=True))
        out /= np.where(length > 0, length, 1.0)
        return out


@lru_cache(maxsize=1 << 16)
def _place(word: str) -> tuple[int, float]:
    number = int(murmurhash3_32(word.encode("utf-8", "surrogatepass")))
    return abs(number) % N_HASHED, 1.0 if number >= 0 else -1.0
