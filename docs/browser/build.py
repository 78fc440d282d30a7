"""Put the page together: ``python docs/browser/build.py FOLDER``, after ``make wasm``.

Open it through a web server, ``python -m http.server -d FOLDER``: browsers do not fetch files for pages that are files.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

from boostforest import BoostForestRegressor

HERE = Path(__file__).resolve().parent
JS = HERE.parents[1] / "js"


def main(folder: Path, wasm: Path = JS / "boostforest.wasm") -> None:
    """Write the page, the package that it uses, the model and what its sliders show."""
    (folder / "boostforest").mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "index.html", folder)
    for path in (JS / "index.js", wasm):
        shutil.copy(path, folder / "boostforest")
    table, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    forest = BoostForestRegressor(100, preset="paper", oob_score=True, dtype="int8", random_state=0).fit(table, y)
    forest.save_model(folder / "model.bf")
    columns = []
    for name in table:
        low, median, high = np.quantile(table[name], [0.01, 0.5, 0.99], method="nearest").tolist()
        digits = 0 if (table[name] % 1 == 0).all() else 1 if high > 20 else 2
        columns.append({"name": name, "min": low, "median": median, "max": high, "digits": digits})
    (folder / "columns.json").write_text(json.dumps(columns))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
