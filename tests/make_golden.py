"""Write golden model files of the current format version: small models, and what they must predict for ever.

``python tests/make_golden.py NAME …`` with names from ``models``, once for what a format version has added, and never
again for a version that was released. The files of version 1 have one common record, ``v1.json``.
"""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from boostforest._features.encoder import TableEncoder
from boostforest._files import coding
from boostforest._files.files import FORMAT_VERSION
from boostforest._grow import boosted
from boostforest._losses import RegressionLoss
from boostforest.nodes import ELM, LinearSVR
from twin import example_data

FOLDER = Path(__file__).parent / "data"
SMALL = {"max_leaf_nodes": 5, "random_state": 7}
FOREST = {"n_estimators": 3, "node_model": ["ridge", "constant"], "reg_lambda": (0.01, 1.0), **SMALL}


def models():
    """Return estimators with their tables and the type that their coefficients are stored in."""
    tables = {task: example_data(task, n=60, d=3) for task in ("regression", "binary", "multiclass")}
    frame = pd.DataFrame(tables["regression"][0], columns=["age", "größe", "x y"])
    words = np.array(["no", "yes"])[tables["binary"][1]]
    rng = np.random.default_rng(2)
    mixed = frame.assign(
        age=frame["age"].where(frame["age"] < 0.5),
        größe=rng.choice(["é", "b", "a", None], 60),
        town=rng.choice(np.array([3, 2**60 + 1, 2.5, 7, 8], dtype=object), 60),
    )
    nodes = {"n_estimators": 4, "node_model": [ELM(n_hidden=(2, 3), reg_lambda=1.0), LinearSVR(C=[0.5, 2]), "elm"]}
    roles = {"split_features": [0, 2], "model_features": [0, 1], "node_model": ["ridge", ELM(n_hidden=2)]}
    signs = {"monotonic_cst": [1, -1, 0], "split_features": [0, 1]}
    categories = {"categorical_features": ["größe", "town"], "missing_indicator": True}
    staged = FOREST | {"n_estimators": 64, "n_stages": 2, "max_leaf_nodes": 3}
    deep = {"n_estimators": 3, "min_samples_leaf": 5, "node_model": ["ridge", ELM(n_hidden=2)], "random_state": 7}
    tempered = staged | {"calibrate": "temperature"}
    steps, boosts = stepped_table(), {"n_estimators": 4, "boost": True, "random_state": 7}
    pairs = pd.DataFrame(rng.normal(size=(400, 3)), columns=frame.columns)
    pairs = pairs.assign(größe=rng.choice(["é", "b", "a", None], 400), town=rng.choice([3.0, 2.5, 7.0, 8.0], 400))
    alike = 2.0 * ((pairs["größe"] == "a") == (pairs["town"] < 5)) + 0.1 * pairs["age"]
    return {
        "orders-regressor": (BoostForestRegressor(**FOREST, **categories, preset="paper"), pairs, alike, "float64"),
        "tree-regressor": (BoostTreeRegressor(clip=False, **SMALL), *tables["regression"], "float64"),
        "tree-classifier": (BoostTreeClassifier(**SMALL), tables["binary"][0], tables["binary"][1] == 1, "float64"),
        "forest-regressor": (BoostForestRegressor(**FOREST, preset="paper"), frame, tables["regression"][1], "float64"),
        "forest-binary": (BoostForestClassifier(**FOREST, preset="paper"), tables["binary"][0], words, "float32"),
        "forest-multiclass": (BoostForestClassifier(**FOREST, preset="paper"), *tables["multiclass"], "float16"),
        "nodes-regressor": (BoostForestRegressor(**(FOREST | nodes), preset="paper"), *tables["regression"], "float64"),
        "nodes-multiclass": (
            BoostForestClassifier(**(FOREST | nodes), preset="paper"),
            *tables["multiclass"],
            "float32",
        ),
        "roles-multiclass": (
            BoostForestClassifier(**(FOREST | roles), preset="paper"),
            *tables["multiclass"],
            "float64",
        ),
        "monotone-regressor": (
            BoostForestRegressor(**FOREST, **signs, preset="paper"),
            *tables["regression"],
            "float64",
        ),
        "monotone-classifier": (BoostTreeClassifier(**SMALL, **signs), *tables["binary"], "float32"),
        "halves-regressor": (
            BoostForestRegressor(**FOREST, dtype="float16", preset="paper"),
            *tables["regression"],
            "float16",
        ),
        "bytes-regressor": (
            BoostForestRegressor(**FOREST, dtype="int8", preset="paper"),
            *tables["regression"],
            "int8",
        ),
        "bytes-multiclass": (BoostForestClassifier(**FOREST, preset="paper"), *tables["multiclass"], "int8"),
        "coded-regressor": (BoostForestRegressor(**deep, dtype="int8", preset="paper"), *tables["regression"], "int8"),
        "coded-multiclass": (
            BoostForestClassifier(**deep, dtype="int8", preset="paper"),
            *tables["multiclass"],
            "int8",
        ),
        "coded-binary": (BoostForestClassifier(**FOREST, preset="paper"), *tables["binary"], "float16"),
        "stages-regressor": (BoostForestRegressor(**staged, preset="paper"), *tables["regression"], "float64"),
        "stages-binary": (
            BoostForestClassifier(**staged, calibrate="isotonic", preset="paper"),
            *tables["binary"],
            "float64",
        ),
        "stages-multiclass": (BoostForestClassifier(**tempered, preset="paper"), *tables["multiclass"], "float16"),
        "boosted-regressor": (BoostForestRegressor(**boosts, max_leaf_nodes=3, preset="paper"), *steps, "float64"),
        "boosted-binary": (
            BoostForestClassifier(**boosts, max_leaf_nodes=3, preset="paper"),
            steps[0],
            steps[1] > 3,
            "float32",
        ),
        "runs-regressor": (BoostForestRegressor(**boosts, dtype="int8", preset="paper"), *steps, "int8"),
        "counts-regressor": (
            BoostForestRegressor(**FOREST, loss="poisson", preset="paper"),
            tables["regression"][0],
            np.round(np.exp(tables["regression"][1])),
            "float64",
        ),
        "quantile-regressor": (
            BoostForestRegressor(**FOREST, loss="quantile", quantile=0.25, preset="paper"),
            *tables["regression"],
            "float64",
        ),
        "times-regressor": (
            BoostForestRegressor(**FOREST, loss="aft", distribution="extreme_value", preset="paper"),
            tables["regression"][0],
            np.column_stack([np.exp(tables["regression"][1]), tables["binary"][1]]),
            "float64",
        ),
        "hidden-regressor": (BoostForestRegressor(**deep, preset="paper"), *tables["regression"], "int8"),
        "local-regressor": (BoostForestRegressor(**staged, preset="paper"), *tables["regression"], "float64"),
        "table-regressor": (
            BoostForestRegressor(**FOREST, **categories, preset="paper"),
            mixed,
            tables["regression"][1],
            "float64",
        ),
        "table-multiclass": (
            BoostForestClassifier(**FOREST, **categories, preset="paper"),
            mixed,
            tables["multiclass"][1],
            "float64",
        ),
    }


def stepped_table():
    """Return a table that boosted trees are better at."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, 4 * (X[:, 0] > 0) * (X[:, 1] > 0.3) + 3 * (X[:, 2] > 0.5) + 0.3 * rng.normal(size=200)


def boost_little(max_leaves=4):
    """Let boosted stages have few and small trees, large enough to be rounded."""
    boosted._BAGS_OF_FEW_ROWS = 3
    boosted.RULES = replace(boosted.RULES, max_leaves=max_leaves, max_rounds=3, learning_rate=0.6)


def round_model(fitted):
    """Round a model so that its scores are exact sums: the same on any machine, in any order of summation."""
    model = fitted._model
    forest, features, loss = model.columns, model.features, model.loss
    short = {name: np.round(64 * getattr(forest, name)) / 64 for name in ("lower", "upper")}
    if forest.exponent is None:
        short["params"] = np.round(64 * forest.params) / 64
    scaling = {"mean": np.round(8 * features.mean) / 8, "scale": 2.0 ** np.round(np.log2(features.scale))}
    fill = features.fill
    if fill is not None:  # missing values depend on one feature that has none: exact sums again
        fill = np.vstack([np.round(8 * fill[0]) / 8, 4 * np.eye(forest.n_features)])
        at = model.feature_names.index("x y")
        fill[1:, at] = fill[1 + at] = np.where(np.arange(forest.n_features) == at, 4.0, 0.5)
    encoder = features.encoder
    if encoder is not None:
        rounded = {
            j: np.round(64 * c.means) / 64
            for j, c in enumerate(encoder.columns)
            if getattr(c, "means", None) is not None
        }
        encoder = TableEncoder(
            tuple(replace(c, means=rounded[j]) if j in rounded else c for j, c in enumerate(encoder.columns))
        )
    if isinstance(loss, RegressionLoss):
        loss = replace(loss, mean=round(8 * loss.mean) / 8, scale=2.0 ** round(np.log2(loss.scale)))
    fitted._model = replace(
        model,
        columns=replace(forest, **short),
        features=replace(features, fill=fill, encoder=encoder, **scaling),
        loss=loss,
        stages=replace(model.stages, steps=tuple(np.ceil(8 * np.array(model.stages.steps)) / 8)),
    )
    return fitted


def results(fitted, rows):
    """Return what is recorded of a model: for classifiers the scores of each tree, and rounded probabilities."""
    found = {"leaves": fitted.apply(rows).tolist(), "labels": fitted.predict(rows).tolist()}
    if hasattr(fitted, "classes_"):
        trees = [fitted.get_tree(i) for i in range(fitted.forest_.n_trees)] if hasattr(fitted, "get_tree") else [fitted]
        found["scores"] = [tree.decision_function(rows).tolist() for tree in trees]
        found["probabilities"] = fitted.predict_proba(rows).tolist()
    if getattr(fitted, "n_stages_", 1) > 1:
        found["out_of_bag"] = out_of_bag(fitted, rows).tolist()
        if not hasattr(fitted, "classes_"):
            found["local"] = local(fitted, rows).tolist()
    return found


def local(fitted, rows):
    """Return what a forest predicts from the leaves that rows share: intervals and quantiles."""
    return np.column_stack([fitted.predict_interval(rows, method="local"), fitted.predict_quantiles(rows, [0.1, 0.7])])


def out_of_bag(fitted, rows):
    """Return what a forest predicts from the rows that its trees have left out: intervals, or sets of classes."""
    is_classifier = hasattr(fitted, "classes_")
    return fitted.predict_set(rows) if is_classifier else fitted.predict_interval(rows, method="jackknife+")


def rows_for(X):
    """Return rows to predict, of exact numbers; in a table with categories some are unknown and some missing."""
    rows = pd.DataFrame(np.round(8 * np.random.default_rng(1).normal(size=(12, 3))) / 8)
    if not isinstance(X, pd.DataFrame):
        return rows.to_numpy()
    rows.columns = X.columns[:3]
    if X.shape[1] > 3:
        rows["age"] = rows["age"].where(rows["age"] > -0.5, None)
        rows["größe"] = ["é", "b", "a", None, "unknown", "a"] * 2
        rows["town"] = pd.Series([2**60 + 1, 3, 2.5, None, 7, 8, 2**60] + [3] * 5, dtype=object)
    return rows


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        estimator, X, y, dtype = models()[name]
        if name.startswith("boosted"):
            boost_little()
        if name.startswith("runs"):
            boost_little(max_leaves=16)
        fitted = estimator.fit(X, y)
        if dtype == "int8":  # the file has it, and so has what is loaded
            fitted._model = replace(fitted._model, columns=fitted.forest_.astype(dtype))
        fitted = round_model(fitted)
        rows = rows_for(X)
        path = FOLDER / f"v{FORMAT_VERSION}-{name}.safetensors"
        if name.startswith(("coded", "runs", "local", "hidden")):
            coding._SMALL, coding._GAIN = 0, np.inf  # otherwise so small a file has nothing coded
        fitted.save_model(path, dtype=dtype)
        values = rows.astype(object).where(rows.notna(), None).to_numpy() if isinstance(rows, pd.DataFrame) else rows
        record = {"columns": getattr(fitted, "feature_names_in_", np.array([])).tolist(), "rows": values.tolist()}
        text = json.dumps(record | results(fitted, rows), indent=1)
        flat = re.sub(r"\[[^][{}]*\]", lambda match: " ".join(match[0].split()), text)  # a list of numbers on a line
        path.with_suffix(".json").write_text(flat + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
