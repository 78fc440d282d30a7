"""Model files that were damaged at random are refused, or do no harm; ``make fuzz`` tries for longer."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz_io import CHANGES, CONTENTS, DAMAGES, load_damaged


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Return a path for all examples."""
    return tmp_path_factory.mktemp("damaged") / "damaged.safetensors"


contents = st.sampled_from(CONTENTS)
few = settings(max_examples=100)


@few
@given(content=contents, data=st.data())
def test_every_truncation_is_refused(content, data, path):
    assert load_damaged(path, content[: data.draw(st.integers(0, len(content) - 1))], sealed=False)


@few
@given(content=contents, data=st.data(), more=st.binary(min_size=1))
def test_every_insertion_is_refused(content, data, more, path):
    at = data.draw(st.integers(0, len(content)))
    damaged = content[:at] + more + content[at:]
    assert load_damaged(path, damaged, sealed=False)


@few
@given(content=contents, data=st.data(), bit=st.integers(0, 7))
def test_every_flipped_bit_is_refused(content, data, bit, path):
    at = data.draw(st.integers(0, len(content) - 1))
    damaged = content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]
    assert load_damaged(path, damaged, sealed=False)


@few
@given(content=contents, data=st.data(), new=st.text() | st.sampled_from(["null", "-1", "1e999", "[", "{}", "\\ud800"]))
def test_every_edit_of_the_header_is_refused(content, data, new, path):
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length]
    begin = data.draw(st.integers(0, length))
    end = data.draw(st.integers(begin, min(length, begin + 20)))
    text = header[:begin] + new.encode() + header[end:]
    if text != header:
        damaged = len(text).to_bytes(8, "little") + text + content[8 + length :]
        assert load_damaged(path, damaged, sealed=False)


@settings(few, max_examples=200)
@given(content=contents, function=st.sampled_from([*DAMAGES, *CHANGES]), seed=st.integers(0, 2**32))
def test_random_damage_is_refused_or_does_no_harm(content, function, seed, path):
    damaged = function(random.Random(seed), content)
    if damaged != content:
        load_damaged(path, damaged, sealed=function in CHANGES)
