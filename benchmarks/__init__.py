"""Speed of boostforest, by ``python -m benchmarks.speed``; the paper's experiments are in ``paper/``."""

import sys
from pathlib import Path

# The datasets and learners are boostforest-paper's, which need not be installed for this.
sys.path.append(str(Path(__file__).resolve().parents[1] / "paper"))
