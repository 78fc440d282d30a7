"""Write the golden model files of the current format version: small models, and what they must predict for ever.

Run it once per format version, and never again for a version that was released: ``python tests/make_golden.py``.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from boostforest import BoostForestClassifier, BoostForestRegressor, BoostTreeClassifier, BoostTreeRegressor
from boostforest._io import FORMAT_VERSION
from twin import example_data

FOLDER = Path(__file__).parent / "data"
SMALL = {"max_leaf_nodes": 5, "random_state": 7}
FOREST = {"n_estimators": 3, "node_model": ["ridge", "constant"], "reg_lambda": (0.01, 1.0), **SMALL}


def models():
    """Return estimators with their tables and the type that their coefficients are stored in."""
    tables = {task: example_data(task, n=60, d=3) for task in ("regression", "binary", "multiclass")}
    frame = pd.DataFrame(tables["regression"][0], columns=["age", "größe", "x y"])
    words = np.array(["no", "yes"])[tables["binary"][1]]
    return {
        "tree-regressor": (BoostTreeRegressor(clip=False, **SMALL), *tables["regression"], "float64"),
        "tree-classifier": (BoostTreeClassifier(**SMALL), tables["binary"][0], tables["binary"][1] == 1, "float64"),
        "forest-regressor": (BoostForestRegressor(**FOREST), frame, tables["regression"][1], "float64"),
        "forest-binary": (BoostForestClassifier(**FOREST), tables["binary"][0], words, "float32"),
        "forest-multiclass": (BoostForestClassifier(**FOREST), *tables["multiclass"], "float16"),
    }


def round_model(fitted):
    """Round a model so that its scores are exact sums: the same on any machine, in any order of summation."""
    forest = fitted.forest_
    short = {name: np.round(64 * getattr(forest, name)) / 64 for name in ("params", "lower", "upper")}
    fitted.forest_ = replace(forest, **short)
    fitted.feature_mean_ = np.round(8 * fitted.feature_mean_) / 8
    fitted.feature_scale_ = 2.0 ** np.round(np.log2(fitted.feature_scale_))
    if hasattr(fitted, "target_scale_"):
        fitted.target_mean_ = round(8 * fitted.target_mean_) / 8
        fitted.target_scale_ = 2.0 ** round(np.log2(fitted.target_scale_))
    return fitted


def results(fitted, rows):
    """Return what is recorded of a model: for classifiers the scores of each tree, and rounded probabilities."""
    found = {"leaves": fitted.apply(rows).tolist(), "labels": fitted.predict(rows).tolist()}
    if hasattr(fitted, "classes_"):
        trees = [fitted.get_tree(i) for i in range(fitted.forest_.n_trees)] if hasattr(fitted, "get_tree") else [fitted]
        found["scores"] = [tree.decision_function(rows).tolist() for tree in trees]
        found["probabilities"] = fitted.predict_proba(rows).tolist()
    return found


def main():
    FOLDER.mkdir(exist_ok=True)
    rows = np.round(8 * np.random.default_rng(1).normal(size=(12, 3))) / 8
    record = {"rows": rows.tolist(), "models": {}}
    for name, (estimator, X, y, dtype) in models().items():
        fitted = round_model(estimator.fit(X, y))
        fitted.save_model(FOLDER / f"v{FORMAT_VERSION}-{name}.safetensors", dtype=dtype)
        table = rows if not hasattr(fitted, "feature_names_in_") else pd.DataFrame(rows, columns=X.columns)
        record["models"][name] = results(fitted, table)
    text = json.dumps(record, indent=1)
    flat = re.sub(r"\[[^][{}]*\]", lambda match: " ".join(match[0].split()), text)  # a list of numbers on a line
    (FOLDER / f"v{FORMAT_VERSION}.json").write_text(flat + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
