"""FilterBoost: filters, edges, and streams against tables."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ks_2samp
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from boostforest_paper.baselines import FilterBoostClassifier
from boostforest_paper.baselines.filters import Filter, FilterEnd, StreamFilter, TableFilter

X, Y = make_classification(150, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=1)


def draws_from(X, y, seed, size=500):
    """Yield endless batches of rows drawn with replacement."""
    rng = np.random.default_rng(seed)
    while True:
        rows = rng.integers(0, len(y), size)
        yield X[rows], y[rows]


def both_filters(score, rng, epsilon=0.1):
    """Return a filter over a table, and one over a stream from it, of an ensemble that gives each row this score."""
    x, y = score[:, None], np.ones(len(score))

    def signs(rows):
        return rows[:, 0]  # not ±1, but filters do not care

    filters = [
        TableFilter(x, y, np.ones(len(y)), epsilon, rng),
        StreamFilter(draws_from(x, y, rng.integers(2**32), 5000), epsilon, rng),
    ]
    for f in filters:
        f.add(signs, 1.0)
    return filters


# -------------------------------------------------------------------------------------------------------------- filters


def test_rows_are_accepted_by_their_logistic_weights():
    score = np.array([-2.0, 0.0, 1.0, 3.0])
    expected = 1 / (1 + np.exp(score))
    for examples in both_filters(score, np.random.default_rng(0)):
        examples.start_round(0.1)
        x, _, times = examples.draw(20_000)
        counts = [times[x[:, 0] == value].sum() for value in score]
        assert_allclose(counts, 20_000 * expected / expected.sum(), rtol=0.05)


def test_a_filter_ends_as_often_as_it_should():
    """One call may take L draws; with the acceptance rate q it ends with the probability (1 - q)^L."""
    q, delta, epsilon, n = 0.03, 0.2, 0.1, 400
    limit = np.ceil(2 / epsilon * np.log(2 / delta))
    score = np.full(3, np.log(1 / q - 1))
    ended = np.zeros(2)
    rng = np.random.default_rng(0)
    for _ in range(n):
        for i, examples in enumerate(both_filters(score, rng, epsilon)):
            examples.start_round(delta)
            try:
                examples.draw(1)
            except FilterEnd:
                ended[i] += 1
    expected = (1 - q) ** limit
    assert_allclose(ended / n, expected, atol=4 * np.sqrt(expected * (1 - expected) / n))


class Coin(Filter):
    """Examples that any member gets right with the same probability."""

    def __init__(self, p, seed):
        super().__init__(0.1, np.random.default_rng(seed))
        self.p, self.n = p, 0

    def draw(self, n):
        raise AssertionError("the stopping rule asks for outcomes only")

    def add(self, signs, alpha):
        raise AssertionError("the stopping rule asks for outcomes only")

    def outcomes(self, signs, n):
        self.n += n
        return self._rng.random(n) < self.p


@pytest.mark.parametrize("edge", [0.2, -0.1])
@pytest.mark.parametrize("tau", [0.2, 0.5])
def test_edges_are_as_accurate_as_tau_says(edge, tau):
    model = FilterBoostClassifier(tau=tau, max_edge_samples=10**7)
    used = [model._edge(Coin(0.5 + edge, seed), None, 0.01) / edge for seed in range(20)]
    assert 1 / (1 + 2 * tau) <= min(used) and max(used) <= 1


def test_a_member_without_edge_does_not_take_examples_for_ever():
    coin = Coin(0.5, 0)
    assert abs(FilterBoostClassifier(max_edge_samples=3000)._edge(coin, None, 0.01)) < 0.03
    assert coin.n == 3000


# --------------------------------------------------------------------------------------------------- tables and streams


def test_from_a_stream_it_is_in_distribution_what_it_is_from_a_table():
    n_seeds = 40
    arguments = {"n_estimators": 4, "n_filtered": 40, "max_edge_samples": 1500}
    fits = [FilterBoostClassifier(random_state=seed, **arguments) for seed in range(2 * n_seeds)]
    table = [model.fit(X, Y) for model in fits[:n_seeds]]
    stream = [model.fit_stream(draws_from(X, Y, seed)) for seed, model in enumerate(fits[n_seeds:])]
    for part in (lambda m: m.edges_[0], lambda m: m.edges_[-1], lambda m: m.score(X, Y)):
        assert ks_2samp([part(m) for m in table], [part(m) for m in stream]).pvalue > 0.01
    scores = [np.array([m.decision_function(X) for m in models]) for models in (table, stream)]
    error = np.sqrt(sum(s.var(axis=0) for s in scores) / n_seeds)
    apart = (scores[0].mean(axis=0) - scores[1].mean(axis=0)) / error
    assert np.abs(apart).max() < 4.5 and np.abs(apart).mean() < 1.5


def test_it_ends_when_the_error_is_below_epsilon():
    x = np.linspace(-1, 1, 200)[:, None]
    y = (x[:, 0] > 0.1).astype(int)
    model = FilterBoostClassifier(epsilon=0.05, random_state=0).fit(x, y)
    assert model.stop_reason_ == "epsilon"
    assert len(model.estimators_) < 50
    assert model.score(x, y) > 0.95
    streamed = FilterBoostClassifier(epsilon=0.05, random_state=0).fit_stream(draws_from(x, y, 0))
    assert streamed.stop_reason_ == "epsilon"
    assert FilterBoostClassifier(n_estimators=2, random_state=0).fit(x, y).stop_reason_ == "n_estimators"


def test_a_stream_that_ends_leaves_the_rounds_that_were_completed():
    batches = [batch for batch, _ in zip(draws_from(X, Y, 0, 100), range(40), strict=False)]
    model = FilterBoostClassifier(n_filtered=100, max_edge_samples=300, random_state=0).fit_stream(batches)
    assert model.stop_reason_ == "exhausted"
    assert 1 <= len(model.estimators_) < 20
    with pytest.raises(ValueError, match="The examples ended in the first round"):
        FilterBoostClassifier(n_filtered=100).fit_stream(batches[:1])


def test_batches_may_have_any_size_and_any_kind_of_label():
    rng = np.random.default_rng(0)
    labels = np.array(["no", "yes"])[Y]

    def batches():
        while True:
            rows = rng.integers(0, len(Y), rng.integers(1, 50))
            yield X[rows], labels[rows]

    model = FilterBoostClassifier(n_estimators=3, n_filtered=50, max_edge_samples=200, random_state=0)
    assert model.fit_stream(batches(), classes=["yes", "no"]).score(X, labels) > 0.6
    assert_array_equal(model.classes_, ["no", "yes"])


@pytest.mark.parametrize(
    ("batches", "classes", "message"),
    [
        ([(X, Y), (X, Y + 1)], None, "Batch 1 has labels other than 0 and 1"),
        ([(X, np.zeros_like(Y))], None, "y contains 1 class, while a minimum of 2 classes"),
        ([(X, Y)], [0, 1, 2], "Only binary classification is supported"),
        ([(X, Y), (X[:, :2], Y)], None, "X has 2 features, but FilterBoostClassifier is expecting 4"),
        ([], None, "The examples ended in the first round"),
    ],
)
def test_bad_streams_are_refused(batches, classes, message):
    with pytest.raises(ValueError, match=message):
        FilterBoostClassifier(n_filtered=200).fit_stream(batches, classes)


def test_weights_are_the_probabilities_of_rows():
    """Rows of one kind say the opposite of the others; those that weigh more win."""
    x = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.tile([0, 1], 50)
    weight = np.where(y == (x[:, 0] > 0.5), 5.0, 1.0)
    model = FilterBoostClassifier(DecisionTreeClassifier(max_depth=1), 20, tau=0.2, random_state=0)
    p = model.fit(x, y, sample_weight=weight).predict_proba([[0.0], [1.0]])
    assert_allclose(p[:, 1], [1 / 6, 5 / 6], atol=0.03)
