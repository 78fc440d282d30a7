"""How long a fit takes where accuracy is not the question."""

from boostforest_paper.experiments import Block, experiment

EQUAL = ("LightGBM (31 leaves)", "LightGBM-linear (31 leaves)", "GBDT-PL (31 leaves)")

experiment(
    "gbdt_pl",
    "How long does GBDT-PL take beside LightGBM's linear trees, with equal rounds, leaves and bins?",
    Block("classification", ("BCD", "QSAR", "BA"), EQUAL, base="GBDT-PL (31 leaves)"),
    Block("regression", ("BH", "WQW", "CCPP", "EGSS", "20000x20", "100000x20"), EQUAL, base="GBDT-PL (31 leaves)"),
    kind="times",
    repeats=5,
)
