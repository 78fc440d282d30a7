"""The data on which LogitBoost and MultiBoost are compared with Weka's, and the program that records Weka's figures.

python paper/tests/weka_boosting.py    # into paper/tests/data/weka-boosting.json; needs Java and Weka
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
import weka
from weka_lmt import folds

RECORD = Path(__file__).parent / "data" / "weka-boosting.json"
N_ROUNDS, N_COMMITTEES = 12, 4
LOGIT_BOOST = ("LogitBoost", ["-I", str(N_ROUNDS)])
ADA_BOOST = ("MultiBoostAB", ["-I", str(N_ROUNDS), "-C", "1"])  # one committee: nothing in it is random
MULTI_BOOST = ("MultiBoostAB", ["-I", str(N_ROUNDS), "-C", str(N_COMMITTEES)])
# Without wine, where a test row lies on a cut: single precision sends it to the other side. For AdaBoost without tables
# that have stumps hardly better than chance: the rules for these differ.
TABLES = {"LogitBoost": ("iris", "breast-cancer", "checkerboard", "piecewise", "clusters")}
TABLES["AdaBoost"] = TABLES["MultiBoost"] = ("iris", "breast-cancer", "checkerboard")
N_SEEDS = 5


def probabilities(name, table):
    """Return Weka's probabilities of the test rows of the first fold."""
    program, options = LOGIT_BOOST if name == "LogitBoost" else ADA_BOOST
    return weka.probabilities(program, folds(table)[0], options)


def accuracies(table):
    """Return MultiBoost's accuracy on each fold, with several seeds."""
    program, options = MULTI_BOOST
    return [
        [round(weka.run(program, part, [*options, "-S", str(seed)]).score, 6) for seed in range(N_SEEDS)]
        for part in folds(table)
    ]


def main():
    """Record all."""
    content = {"weka": weka.version()}
    for name in ("LogitBoost", "AdaBoost"):
        content[name] = {table: probabilities(name, table).tolist() for table in TABLES[name]}
    content["MultiBoost"] = {table: accuracies(table) for table in TABLES["MultiBoost"]}
    RECORD.write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
