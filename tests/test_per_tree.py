"""Values of trees: each of the different ones is kept once, and whoever asks sees one value per tree."""

import pickle

import numpy as np
import pytest

from boostforest._base.arrays import PerTree
from boostforest._base.draws import draw, tree_seeds
from boostforest._core import word
from boostforest.nodes import ELM
from twin import word as word_of_twin

VALUES = [1, 1.0, True, 1, "ridge", None, 1.0]


@pytest.fixture
def values():
    return PerTree.of(VALUES)


def test_it_reads_as_the_list_that_it_was_made_of(values):
    assert values == VALUES and len(values) == 7 and values[-2] is None
    assert [type(v) for v in values] == [type(v) for v in VALUES], "1, 1.0 and True are equal, but not the same"


def test_some_trees_keep_their_values(values):
    assert values[2:5] == [True, 1, "ridge"]
    assert values.take([4, 0]) == ["ridge", 1]
    assert values.take(np.array([0, 0, 0, 0, 0, 1, 1], dtype=bool)) == [None, 1.0]


def test_compact_values_are_those_that_trees_have_and_no_others(values):
    some = values.take([4, 0]).compact()
    assert some == ["ridge", 1] and len(some.values) == 2


def test_forests_are_joined_and_trees_repeated(values):
    assert PerTree.joined([values, PerTree.same("ridge", 2)]) == [*VALUES, "ridge", "ridge"]
    assert PerTree.of([5, None]).repeated(np.array([2, 1])) == [5, 5, None]


def test_what_is_encoded_has_a_number_or_several_for_each_tree():
    values, seen = PerTree.of([2, 3, 2]), []

    def both(value, factor):
        seen.append(value)
        return value, value * factor

    np.testing.assert_array_equal(values.encoded(both, 10), [[2, 3, 2], [20, 30, 20]])
    assert seen == [2, 3], "each value once"
    np.testing.assert_array_equal(values.encoded(float), [2, 3, 2])


def test_trees_that_draw_the_same_parameters_of_a_node_model_share_it():
    drawn = ELM(n_hidden=[5, 10], reg_lambda=[0.1, 1.0])._draw(tree_seeds(0, 40))
    assert len(drawn.values) == 4 and len({repr(model) for model in drawn}) == 4


def test_pools_are_drawn_from_as_often_as_chance_says():
    drawn = draw([1, 2, 3, 4], tree_seeds(0, 4000), int)
    assert np.abs(np.bincount(drawn.places) - 1000).max() < 5 * np.sqrt(750)


def test_words_are_those_of_the_twin():
    keys = tree_seeds(1, 5)
    assert word(keys, 3).tolist() == [word_of_twin(int(key), 3) for key in keys]


def test_pickles_keep_it(values):
    assert pickle.loads(pickle.dumps(values)) == values
