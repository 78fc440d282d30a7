"""LMTClassifier and SimpleLogisticClassifier against Weka's: live where that is installed, and against a record."""

import pytest
from numpy.testing import assert_allclose

import weka
from weka_lmt import GENERATED, OURS, assert_as_good_and_as_large, fit_and_test, folds, our_figures, recorded

needs_weka = pytest.mark.skipif(weka.why_not() is not None, reason=str(weka.why_not()))
LIVE = [name for name in GENERATED if name not in ("breast-cancer", "digits")]  # Weka takes seconds for these

# Weka's options and ours.
SETTINGS = [
    ("LMT", "piecewise", "-I 2", {"n_iter": 2}),
    ("LMT", "steps", "-M 40", {"min_samples_split": 41}),
    ("LMT", "checkerboard", "-P", {"error_on_probabilities": True}),
    ("LMT", "clusters", "-A", {"use_aic": True}),
    ("SimpleLogistic", "steps", "-M 20 -P", {"max_iter": 20, "error_on_probabilities": True}),
    ("SimpleLogistic", "clusters", "-H 5", {"n_iter_no_change": 5}),
]


# ----------------------------------------------------------------------------------------------------------------- live


@pytest.fixture(scope="module")
def live():
    """Return one fold of every dataset and Weka's runs on them, made side by side."""
    parts = {(classifier, name): folds(name)[0] for classifier in OURS for name in LIVE}
    return parts, weka.run_all({key: (key[0], part) for key, part in parts.items()})


@needs_weka
@pytest.mark.parametrize("classifier", OURS)
def test_with_wekas_folds_accuracies_and_sizes_are_wekas(classifier, live):
    parts, runs = live
    for name in LIVE:
        accuracy, n_leaves, _ = fit_and_test(classifier, parts[classifier, name], {"shuffle": False})
        assert accuracy == pytest.approx(runs[classifier, name].score, abs=0.01)
        assert abs(n_leaves - runs[classifier, name].n_leaves) <= 1  # ties of the pruning may be broken otherwise


@needs_weka
def test_a_tree_takes_less_time_than_wekas(live):
    parts, runs = live
    ours = sum(fit_and_test("LMT", part, {})[2] for (classifier, _), part in parts.items() if classifier == "LMT")
    assert ours < sum(run.seconds for (classifier, _), run in runs.items() if classifier == "LMT")


@needs_weka
@pytest.mark.parametrize(("classifier", "name", "options", "arguments"), SETTINGS)
def test_with_wekas_folds_probabilities_are_wekas_to_the_last_decimal(classifier, name, options, arguments):
    part = folds(name)[1]
    expected = weka.probabilities(classifier, part, options.split())
    model = OURS[classifier](shuffle=False, **arguments).fit(part.X_train, part.y_train)
    assert_allclose(model.predict_proba(part.X_test), expected, atol=6e-7)


# --------------------------------------------------------------------------------------------------- against the record


@pytest.mark.parametrize("classifier", OURS)
@pytest.mark.parametrize("name", GENERATED)
def test_with_wekas_folds_accuracies_and_sizes_are_those_recorded(classifier, name):
    accuracy, n_leaves, _ = zip(*our_figures(classifier, name, shuffle=False), strict=True)
    assert_allclose(accuracy, recorded(classifier, name, "accuracy"), atol=0.02)  # one row of the test part
    if classifier == "LMT":
        assert_allclose(n_leaves, recorded(classifier, name, "n_leaves"), atol=1)


@pytest.mark.parametrize("classifier", OURS)
def test_with_shuffled_folds_the_mean_accuracy_is_within_a_point(classifier):
    assert_as_good_and_as_large(classifier, list(GENERATED), n_seeds=5)
