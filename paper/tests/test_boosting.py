"""LogitBoost, MultiBoost and DeepBoost against slow twins, scikit-learn and what their papers promise."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_gaussian_quantiles
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from boostforest_paper.baselines import (
    DeepBoostClassifier,
    FilterBoostClassifier,
    LogitBoostClassifier,
    MultiBoostClassifier,
)
from models import assert_refused

ALL = [LogitBoostClassifier, MultiBoostClassifier, FilterBoostClassifier, DeepBoostClassifier]
STUMP = DecisionTreeClassifier(max_depth=1)


# Two classes that no tree separates.
X, y = make_classification(200, 5, n_informative=4, n_redundant=0, flip_y=0.2, random_state=3)


# ---------------------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("make", ALL)
def test_the_last_stage_is_the_ensemble(make):
    model = make(n_estimators=8, random_state=0).fit(X, y)
    *_, scores = model.staged_decision_function(X)
    *_, p = model.staged_predict_proba(X)
    *_, labels = model.staged_predict(X)
    assert_allclose(scores, model.decision_function(X))
    assert_allclose(p, model.predict_proba(X))
    assert_array_equal(labels, model.predict(X))
    assert len(list(model.staged_predict(X))) == 8


@pytest.mark.parametrize("make", ALL)
def test_the_same_seed_gives_the_same_ensemble_and_fewer_rounds_its_beginning(make):
    long, again, short = (make(n_estimators=n, random_state=1).fit(X, y) for n in (8, 8, 5))
    assert_array_equal(long.decision_function(X), again.decision_function(X))
    if make is not MultiBoostClassifier:  # its committees depend on the number of members
        assert_array_equal(list(long.staged_predict(X))[4], short.predict(X))


@pytest.mark.parametrize("make", [FilterBoostClassifier, DeepBoostClassifier])
def test_more_than_two_classes_are_refused_where_there_may_be_two(make):
    with pytest.raises(ValueError, match=r"Only binary classification is supported.*y has 3 classes"):
        make().fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("make", ALL)
def test_one_class_that_counts_is_refused(make):
    with pytest.raises(ValueError, match="y contains 1 class after sample_weight trimmed"):
        make().fit(X, y, sample_weight=y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LogitBoostClassifier(n_estimators=0), "n_estimators must be an integer of at least 1; got 0"),
        (LogitBoostClassifier(learning_rate=0), "learning_rate must be a finite number above 0; got 0"),
        (LogitBoostClassifier(clipped_weight="no"), "clipped_weight must be one of 'newton', 'gradient'; got 'no'"),
        (LogitBoostClassifier(STUMP), "estimator must be a regressor; got DecisionTreeClassifier"),
        (MultiBoostClassifier(Ridge()), "estimator must be a classifier; got Ridge"),
        (MultiBoostClassifier(n_estimators=3, n_committees=4), "n_committees=4 must not be above n_estimators=3"),
        (FilterBoostClassifier(epsilon=1), "epsilon must be a number between 0 and 1; got 1"),
        (DeepBoostClassifier(max_depth=0), "max_depth must be an integer of at least 1; got 0"),
        (DeepBoostClassifier(beta=-1), "beta must be a finite number of at least 0; got -1"),
        (DeepBoostClassifier(loss="hinge"), "loss must be one of 'exponential', 'logistic'; got 'hinge'"),
    ],
)
def test_bad_arguments_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_members_without_weights_are_refused_as_scikit_learn_does():
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(ValueError, match="KNeighborsClassifier doesn't support sample_weight"):
        MultiBoostClassifier(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(TypeError, match="estimator must be a classifier of scikit-learn, or None; got <class"):
        MultiBoostClassifier(LinearSVC).fit(X, y)


def test_a_failed_fit_leaves_the_model_as_it_was():
    make = partial(DeepBoostClassifier, n_estimators=3, random_state=0)
    assert_refused(make, X, y, "Only binary", y=np.arange(200) % 3)


# ----------------------------------------------------------------------------------------------------------- LogitBoost


def ridge_by_hand(X, z, w, alpha):
    """Return the predictions of a weighted ridge regression with an intercept."""
    A = np.column_stack([np.ones(len(X)), X])
    penalty = np.diag([0.0] + [alpha] * X.shape[1])
    return A @ np.linalg.solve(A.T @ (w[:, None] * A) + penalty, A.T @ (w * z))


def logit_boost_by_hand(X, y, weight, n_rounds):
    """Return the probabilities of supplementary algorithm 1 with ridge regressions."""
    n, classes = len(y), np.unique(y)
    J = len(classes)
    Y = (y[:, None] == classes).astype(float)
    F = np.zeros((n, J))
    for _ in range(n_rounds):
        p = expit(F) if J == 2 else softmax(F, axis=1)
        f = np.zeros((n, J))
        for j in range(1 if J == 2 else 0, J):
            w = np.maximum(p[:, j] * (1 - p[:, j]), 2 * np.finfo(float).eps)
            z = np.clip((Y[:, j] - p[:, j]) / w, -4, 4)
            w = w * weight * weight.sum() / (w * weight).sum()
            f[:, j] = ridge_by_hand(X, z, w, 1.0)
        F += f if J == 2 else (J - 1) / J * (f - f.mean(axis=1, keepdims=True))
    return np.column_stack([expit(-F[:, 1]), expit(F[:, 1])]) if J == 2 else softmax(F, axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logit_boost_is_the_papers_algorithm(n_classes):
    X, y = make_classification(120, 4, n_informative=3, n_redundant=0, n_classes=n_classes, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=120)
    model = LogitBoostClassifier(Ridge(alpha=1.0), 4).fit(X, y, sample_weight=weight)
    assert_allclose(model.predict_proba(X), logit_boost_by_hand(X, y, weight, 4), atol=1e-10)


def test_logit_boost_with_linear_regression_is_logistic_regression():
    """Newton's method on the log-loss, which is what logistic regression minimises; clipping would change that."""
    boosted = LogitBoostClassifier(Ridge(alpha=1e-10), 15, z_max=1e9).fit(X, y)
    assert_allclose(boosted.predict_proba(X), LogisticRegression(C=1e10).fit(X, y).predict_proba(X), atol=1e-3)


# ----------------------------------------------------------------------------------------------------------- MultiBoost


def test_one_committee_is_adaboost():
    X, y = load_breast_cancer(return_X_y=True)
    ours = MultiBoostClassifier(STUMP, 15, n_committees=1, random_state=0).fit(X, y)
    theirs = AdaBoostClassifier(STUMP, n_estimators=15, random_state=0).fit(X, y)
    assert_allclose(ours.estimator_weights_, theirs.estimator_weights_)
    assert_array_equal(ours.predict(X), theirs.predict(X))


def test_every_committee_starts_anew():
    model = MultiBoostClassifier(STUMP, 30, n_committees=5, random_state=0).fit(X, y)
    assert model._committee_ends() == {6, 12, 18, 24}
    errors = model.estimator_errors_.reshape(5, 6)
    assert errors[:, 0].max() < errors[:, 1:].mean()  # rows are easy again, to those that come first
    assert np.ptp(errors[:, 0]) > 0.01  # but weigh differently in each committee


def test_members_without_error_are_wagged_and_vote_with_a_billion_to_one():
    X, y = load_iris(return_X_y=True)
    model = MultiBoostClassifier(DecisionTreeClassifier(), 6, n_committees=1, random_state=0).fit(X, y)
    assert_allclose(model.estimator_weights_, np.log(1e10))
    assert len({tree.tree_.threshold.tobytes() for tree in model.estimators_}) > 1


def test_a_member_no_better_than_chance_is_scikit_learns_error():
    X = np.zeros((40, 2))
    y = np.arange(40) % 4
    with pytest.raises(ValueError, match="is worse than random, ensemble can not be fit"):
        MultiBoostClassifier(random_state=0).fit(X, y)


# ------------------------------------------------------------------------------------------------------------ DeepBoost


def test_without_penalties_deep_boost_votes_as_adaboost():
    deep = DeepBoostClassifier(1, 6, lambda_=0.0, random_state=0).fit(X, y)
    ada = AdaBoostClassifier(STUMP, n_estimators=6, random_state=0).fit(X, y)
    assert_allclose([2 * step for _, step in deep.steps_], ada.estimator_weights_)
    ours, theirs = deep.decision_function(X), ada.decision_function(X)
    assert_allclose(ours / np.abs(ours).max(), theirs / np.abs(theirs).max())  # its factor is another one


def adaboost_steps(model, X, y):
    """Repeat AdaBoost on the trees that a model has chosen; return the steps that it takes."""
    signs, w = 2.0 * y - 1, np.full(len(y), 1 / len(y))
    steps = []
    for k, _ in model.steps_:
        h = model.estimators_[k].predict(X.astype(np.float32))
        error = w[h != signs].sum()
        steps.append(0.5 * np.log((1 - error) / error))
        w = w * np.exp(-steps[-1] * signs * h)
        w /= w.sum()
    return steps


def test_without_penalties_all_steps_are_adaboosts_also_along_trees_taken_again():
    model = DeepBoostClassifier(1, 60, lambda_=0.0, random_state=0).fit(X, y)
    assert len(model.estimators_) < len(model.steps_)
    assert_allclose([step for _, step in model.steps_], adaboost_steps(model, X, y), atol=1e-9)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize(("beta", "lambda_"), [(0.0, 0.0), (0.02, 0.0), (0.005, 0.01)])
def test_the_objective_never_rises_and_is_what_the_docstring_says(loss, beta, lambda_):
    weight = np.random.default_rng(0).integers(1, 4, size=len(y)).astype(float)
    model = DeepBoostClassifier(3, 40, loss=loss, beta=beta, lambda_=lambda_, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert (np.diff(model.objective_) <= 1e-12).all()
    m, d = weight.sum(), X.shape[1]
    u = 1 - (2 * y - 1) * model.decision_function(X)
    phi = np.exp(u) if loss == "exponential" else np.log2(1 + np.exp(u))
    r = [np.sqrt((4 * tree.n_splits + 2) * np.log2(d + 2) * np.log(m + 1) / m) for tree in model.estimators_]
    paid = (lambda_ * np.array(r) + beta) @ np.abs(model.estimator_weights_)
    assert model.objective_[-1] == pytest.approx(weight @ phi / m + paid)


def test_many_rounds_end_at_the_minimum_of_the_objective_over_the_trees():
    """Where a tree has weight, loss and penalty pull alike; where it has none, the loss pulls less."""
    model = DeepBoostClassifier(2, 300, beta=0.1, lambda_=0.005, random_state=0).fit(X, y)
    signs = 2 * y - 1
    votes = np.array([tree.predict(X.astype(np.float32)) for tree in model.estimators_])
    pull = votes @ (signs * np.exp(1 - signs * model.decision_function(X))) / len(y)
    r = np.sqrt([(4 * t.n_splits + 2) * np.log2(7) * np.log(201) / 200 for t in model.estimators_])
    price, alpha = 0.1 + 0.005 * r, model.estimator_weights_
    assert_allclose(pull[alpha != 0], (np.sign(alpha) * price)[alpha != 0], rtol=0.02)
    assert (np.abs(pull) <= price * 1.02).all()


def test_a_larger_price_of_complexity_gives_smaller_trees():
    X, y = make_gaussian_quantiles(n_samples=400, n_features=4, n_classes=2, random_state=0)
    y = np.where(np.random.default_rng(0).random(400) < 0.1, 1 - y, y)
    sizes = []
    for lambda_ in (0.0, 0.02, 0.1):
        model = DeepBoostClassifier(5, 30, lambda_=lambda_, random_state=0).fit(X, y)
        weights = np.abs(model.estimator_weights_)
        sizes.append(np.average([tree.n_splits for tree in model.estimators_], weights=weights))
    assert sizes[0] > sizes[1] > sizes[2]


def test_trees_of_several_depths_are_in_one_ensemble():
    model = DeepBoostClassifier(6, 60, lambda_=0.02, random_state=0).fit(X, y)
    assert len({tree.depth for tree in model.estimators_}) > 2


def test_trees_cut_at_a_depth_are_those_grown_to_that_depth():
    from boostforest_paper.baselines.vote_trees import GrownTree

    singles = X.astype(np.float32)
    grown = GrownTree(DecisionTreeClassifier(max_depth=6, random_state=0).fit(singles, y).tree_)
    for depth in range(1, grown.depth + 1):
        alone = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(singles, y)
        cut = grown.cut(depth)
        assert np.mean(cut.predict(singles) != 2 * alone.predict(singles) - 1) < 0.05  # equally good splits may differ
        assert grown.error(depth) == pytest.approx(np.mean(cut.predict(singles) != 2 * y - 1))
        assert cut.n_splits == grown.is_inner(depth).sum() <= alone.get_n_leaves() - 1


def test_a_price_that_nothing_is_worth_leaves_an_empty_ensemble():
    model = DeepBoostClassifier(beta=100.0).fit(X, y)
    assert_array_equal(model.decision_function(X), 0)
    assert_allclose(model.predict_proba(X), 0.5)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_probabilities_are_shares_of_the_training_rows_where_trees_can_tell_them_apart(loss):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(500, 1)).astype(float)
    y = rng.random(500) < np.array([0.1, 0.4, 0.6, 0.95])[X[:, 0].astype(int)]
    model = DeepBoostClassifier(1, 150, loss=loss, lambda_=0.0, random_state=0).fit(X, y)
    shares = [y[X[:, 0] == value].mean() for value in range(4)]
    assert_allclose(model.predict_proba([[0], [1], [2], [3]])[:, 1], shares, atol=0.005)
