"""The product's model trees against Weka's on the paper's datasets, from what Weka gave there."""

import json

import pytest

import weka_lmt
import weka_m5p
from boostforest_paper.data.folder import DATA_DIR

pytestmark = pytest.mark.skipif(
    not (DATA_DIR / "SON.parquet").is_file(), reason="needs the datasets: BOOSTFOREST_DATA names their folder"
)


@pytest.mark.parametrize("setting", weka_m5p.OPTIONS)
def test_errors_and_sizes_on_real_data_are_those_recorded_from_weka(setting):
    recorded = json.loads(weka_m5p.RECORD.read_text(encoding="utf-8"))["results"]
    names = [name for name in recorded if name not in weka_m5p.GENERATED]
    assert len(names) == 15
    for name in names:
        ours = [weka_m5p.fit_and_test(part, weka_m5p.OPTIONS[setting][1]) for part in weka_m5p.folds(name, DATA_DIR)]
        weka_m5p.assert_as_good_and_as_large(ours, recorded[name][setting])


@pytest.mark.parametrize("classifier", weka_lmt.OURS)
def test_on_real_data_the_mean_accuracy_is_within_a_point(classifier):
    recorded = json.loads(weka_lmt.RECORD.read_text(encoding="utf-8"))["results"]
    names = [name for name in recorded if name not in weka_lmt.GENERATED]  # the largest take Weka many minutes
    assert len(names) >= 6
    weka_lmt.assert_as_good_and_as_large(classifier, names, n_seeds=2, data_dir=DATA_DIR)
