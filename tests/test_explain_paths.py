"""Path-dependent contributions: against the recursion that defines them, and against shap's TreeExplainer."""

import numpy as np
import pytest

from boostforest import nodes
from coalitions import coalitions, shapley
from models import paper_classifier, paper_regressor


def table(n_columns=5, seed=0, n=160):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    y = 2 * X[:, 0] + np.sin(3 * X[:, 1]) * 2 + X[:, 2] * X[:, 3] + rng.normal(size=n) * 0.3
    return X, y


X, y = table()


def linear_change(forest, tree, node, mean, row):
    """Return the score of a node's model at the mean, and what columns change of it up to the row."""
    model = forest.linear_models()[node, 0]
    return model[0] + model[1:] @ mean, model[1:] * (row - mean)


def hidden_change(forest, tree, node, mean, row):
    """Return the same of a model on a hidden layer: units are lines between the mean and the row."""
    model, (biases, weights) = forest.hidden_models()[node, 0], forest.hidden_layer(tree)
    model = model[: 1 + len(biases)]
    start, end = (biases + x @ weights for x in (mean, row))
    at_start, at_end = (1 / (1 + np.exp(-sums)) for sums in (start, end))
    same = start == end
    slopes = np.where(same, at_start * (1 - at_start), (at_end - at_start) / np.where(same, 1, end - start))
    return model[0] + at_start @ model[1:], (weights * slopes) @ model[1:] * (row - mean)


def game_of_tree(forest, tree, row, means, shape, change=linear_change):
    """Return what a tree gives for each set of known columns; models are lines between means and the row."""
    start = forest.tree_start[tree]
    sets = coalitions(forest.n_features)

    def visit(node):
        own = np.zeros(len(sets))
        at_mean, changes = change(forest, tree, node, means[node], row)
        if not np.isnan(at_mean):
            low, high = shape(node, at_mean), shape(node, at_mean + changes.sum())
            slope = (high - low) / changes.sum() if changes.any() else 0.0
            own += low + slope * (sets @ changes)
        feature = forest.feature[node]
        if feature < 0:
            return own
        left = start + forest.left[node]
        n_left, n_right = map(float, forest.n_samples[left : left + 2])
        share = n_left / (n_left + n_right)
        parts = visit(left), visit(left + 1)
        known = parts[0] if row[feature] <= forest.threshold[node] else parts[1]
        return own + np.where(sets[:, feature], known, share * parts[0] + (1 - share) * parts[1])

    return visit(start)


def node_means(forest, X):
    """Return the means of the rows at each node, of those above it where there are none."""
    means = np.zeros((len(forest.feature), X.shape[1]))

    def visit(start, node, rows, above):
        means[node] = X[rows].mean(axis=0) if len(rows) else above
        if forest.feature[node] >= 0:
            goes = X[rows, forest.feature[node]] <= forest.threshold[node]
            left = start + forest.left[node]
            visit(start, left, rows[goes], means[node])
            visit(start, left + 1, rows[~goes], means[node])

    for start in forest.tree_start[:-1]:
        visit(start, start, np.arange(len(X)), np.zeros(X.shape[1]))
    return means


@pytest.mark.parametrize(
    "settings", [{}, {"clip": False}, {"node_model": "constant"}, {"n_stages": 2, "n_estimators": 40}], ids=str
)
def test_values_are_those_of_the_recursion_over_the_tree(settings):
    model = paper_regressor(scale=False, **{"n_estimators": 5} | settings).fit(X, y)
    forest, others = model.forest_, X[20:60]
    means = node_means(forest, others)
    explanation = model.explain(X[:4], others, algorithm="path")
    shape = lambda node, score: np.clip(score, forest.lower[node], forest.upper[node])  # noqa: E731
    weights = model.stages_.tree_weights()
    for i in range(4):
        total = sum(w * game_of_tree(forest, t, X[i], means, shape) for t, w in enumerate(weights))
        np.testing.assert_allclose(explanation.values[i], shapley(total[:, None])[:, 0], atol=1e-12)
        np.testing.assert_allclose(explanation.base_values[i], total[0], atol=1e-12)
        np.testing.assert_allclose(total[-1], model.predict(X[i : i + 1])[0], atol=1e-12)


@pytest.mark.parametrize("clip", [True, False])
def test_hidden_units_are_lines_between_means_and_the_row(clip):
    model = paper_regressor(5, node_model=nodes.ELM(n_hidden=6), clip=clip, scale=False).fit(X, y)
    forest, others = model.forest_, X[20:60]
    means = node_means(forest, others)
    explanation = model.explain(X[:4], others, algorithm="path")
    shape = lambda node, score: np.clip(score, forest.lower[node], forest.upper[node]) if clip else score  # noqa: E731
    for i in range(4):
        total = np.mean([game_of_tree(forest, t, X[i], means, shape, hidden_change) for t in range(5)], axis=0)
        np.testing.assert_allclose(explanation.values[i], shapley(total[:, None])[:, 0], atol=1e-12)
        np.testing.assert_allclose(total[-1], model.predict(X[i : i + 1])[0], atol=1e-12)
    labels = np.searchsorted([-1, 1], y)
    for classes in (labels, labels > 0):
        classifier = paper_classifier(5, node_model="elm").fit(X, classes)
        explanation = classifier.explain(X[:20], algorithm="path")
        sums = explanation.values.sum(axis=1) + explanation.base_values
        np.testing.assert_allclose(sums, classifier.predict_proba(X[:20]), atol=1e-12)


def test_probabilities_are_lines_between_means_and_the_row():
    model = paper_classifier(5, scale=False).fit(X, y > 0)
    forest, others = model.forest_, X[20:60]
    means = node_means(forest, others)
    explanation = model.explain(X[:4], others, algorithm="path")
    for i in range(4):
        parts = [game_of_tree(forest, t, X[i], means, lambda _, s: 1 / (1 + np.exp(-s))) for t in range(5)]
        expected = shapley(np.mean(parts, axis=0)[:, None])[:, 0]
        np.testing.assert_allclose(explanation.values[i, :, 1], expected, atol=1e-12)


def test_deep_trees_on_many_columns_add_up():
    X, y = table(40, n=2000)
    forest = paper_regressor(3, min_samples_leaf=2, max_features=3).fit(X, y)
    explanation = forest.explain(X[:5], algorithm="path")
    np.testing.assert_allclose(
        explanation.values.sum(axis=1) + explanation.base_values, forest.predict(X[:5]), rtol=1e-9
    )


def shap_trees(model):
    """Return a forest of constants as shap takes it: every leaf has the sum along its path."""
    forest = model.forest_
    constants = np.nan_to_num(forest.linear_models()[:, 0, 0])
    trees = []
    for start, end in zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True):
        sums = np.clip(constants[start:end], forest.lower[start:end], forest.upper[start:end])
        for node in range(end - start):
            if forest.feature[start + node] >= 0:
                left = forest.left[start + node]
                sums[left : left + 2] += sums[node]
        inner = forest.feature[start:end] >= 0
        left = np.where(inner, forest.left[start:end], -1)
        trees.append(
            {
                "children_left": left.astype(np.int32),
                "children_right": np.where(inner, left + 1, -1).astype(np.int32),
                "children_default": left.astype(np.int32),
                "features": forest.feature[start:end],
                "thresholds": forest.threshold[start:end],
                "values": sums[:, None] / forest.n_trees,
                "node_sample_weight": forest.n_samples[start:end].astype(np.float64),
            }
        )
    return {"trees": trees, "internal_dtype": np.float64, "input_dtype": np.float64}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("algorithm", ["interventional", "path"])
def test_forests_of_constants_have_the_values_of_shap(algorithm):
    shap = pytest.importorskip("shap", reason="needs shap")
    model = paper_regressor(8, node_model="constant", scale=False).fit(X, y)
    if algorithm == "path":
        explainer = shap.TreeExplainer(shap_trees(model), feature_perturbation="tree_path_dependent")
    else:
        explainer = shap.TreeExplainer(shap_trees(model), X[20:60], feature_perturbation="interventional")
    expected = explainer.shap_values(X[:20], check_additivity=False)
    values = model.explain(X[:20], X[20:60], algorithm=algorithm).values
    tolerance = 1e-9 if algorithm == "path" else 1e-6  # shap has single precision weights there
    np.testing.assert_allclose(values, np.reshape(expected, values.shape), rtol=0, atol=tolerance)


@pytest.mark.filterwarnings("ignore")
def test_values_are_those_of_shap_over_all_coalitions():
    shap = pytest.importorskip("shap", reason="needs shap")
    model = paper_regressor(3).fit(X, y)
    explainer = shap.KernelExplainer(model.predict, X[20:40])
    expected = explainer.shap_values(X[:3], nsamples=2**5 - 2, l1_reg=False, silent=True)
    np.testing.assert_allclose(model.explain(X[:3], X[20:40]).values, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("n_rows", [1, 7, 9, 70])
def test_rows_do_not_depend_on_those_beside_them(n_rows):
    X, y = table()
    X[::3, 1] = np.nan
    model = paper_classifier(4).fit(X, np.digitize(y, [-1, 1]))
    alone = np.concatenate([model.explain(row[None], X[20:60], algorithm="path").values for row in X[:n_rows]])
    together = model.set_params(n_jobs=3).explain(X[:n_rows], X[20:60], algorithm="path").values
    np.testing.assert_array_equal(together, alone)


@pytest.mark.filterwarnings("ignore")
def test_shap_takes_the_explanation_for_its_plots():
    shap = pytest.importorskip("shap", reason="needs shap")
    matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib")
    matplotlib.use("Agg")
    X, y = table()
    explanation = paper_regressor(4).fit(X, y).explain(X[:30])
    found = explanation.to_shap()
    np.testing.assert_array_equal(found.values, explanation.values)
    assert found.feature_names == explanation.feature_names
    shap.plots.beeswarm(found, show=False)
    shap.plots.waterfall(found[0], show=False)
    matplotlib.pyplot.close("all")
