"""Draw the pictures of the README and of docs/how_it_works.md, by the library: `python tools/pictures.py`."""

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # before pyplot: there need not be a display

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeRegressor

from boostforest import BoostForestRegressor, BoostTreeRegressor

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "_static"
BLUE, LIGHT_BLUE, VERMILION = "#0072B2", "#56B4E9", "#D55E00"


def one_picture() -> Figure:
    """Return a tree with constant leaves, a BoostTree with as many, and a BoostForest, on the same rows."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 10, 200))
    y = np.sin(x) + 0.3 * x + rng.normal(0, 0.25, x.size)
    X, grid = x[:, np.newaxis], np.linspace(0, 10, 800)
    models = {
        "a decision tree:\n5 constants": DecisionTreeRegressor(max_leaf_nodes=5, random_state=0),
        "a BoostTree:\n8 models": BoostTreeRegressor(max_leaf_nodes=5, n_cuts=20, random_state=0),
        "a BoostForest:\n90 % intervals": BoostForestRegressor(random_state=0),
    }
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
    for ax, (title, model), colour in zip(axes, models.items(), (VERMILION, BLUE, BLUE), strict=True):
        model.fit(X, y)
        ax.plot(x, y, ".", color="0.7", markersize=4)
        if isinstance(model, BoostForestRegressor):
            ax.fill_between(grid, *model.predict_interval(grid[:, np.newaxis]).T, color=LIGHT_BLUE, alpha=0.3, lw=0)
        ax.plot(grid, model.predict(grid[:, np.newaxis]), color=colour, linewidth=3)
        ax.set_title(title, fontsize=19)  # to be read on a phone, at a third of the size
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def growing() -> Figure:
    """Return the picture of the example in which a tree grows."""
    return runpy.run_path(str(ROOT / "examples" / "gallery" / "02_growing_a_tree.py"))["figure"]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for draw in (one_picture, growing):
        path = FOLDER / f"{draw.__name__}.png"
        draw().savefig(path, dpi=100, metadata={"Software": None})
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e3:.0f} kB")
