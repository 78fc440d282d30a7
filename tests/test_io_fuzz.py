"""Model files that were damaged at random are refused, or do no harm; ``make fuzz`` tries for longer."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fuzz_io
from fuzz_io import CHANGES, CONTENTS, DAMAGES, lengthen, load_damaged, move_field, rewire, splice


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


@pytest.mark.parametrize("function", [*DAMAGES, *dict.fromkeys(CHANGES)], ids=lambda function: function.__name__)
def test_random_damage_is_refused_or_does_no_harm(function, path):
    for seed in range(25):
        rng = random.Random(seed)
        content = rng.choice(CONTENTS)
        damaged = function(rng, content)
        if damaged != content:
            load_damaged(path, damaged, sealed=function in CHANGES)


def test_changes_under_the_right_checksum_reach_what_is_behind_it(path):
    rng = random.Random(0)
    refused = {
        function.__name__: [load_damaged(path, function(rng, content), sealed=True) for content in 2 * CONTENTS]
        for function in (rewire, lengthen, move_field, splice)
    }
    assert not any(refused["rewire"])
    assert all(0 < sum(some) < len(some) for name, some in refused.items() if name != "rewire")


def test_a_file_that_takes_too_long_fails(path, monkeypatch):
    monkeypatch.setattr(fuzz_io, "MAX_SECONDS", 0)
    with pytest.raises(AssertionError, match=r"a file of \d+ bytes took .* seconds"):
        load_damaged(path, rewire(random.Random(0), CONTENTS[0]), sealed=True)
