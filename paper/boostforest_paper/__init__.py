"""The BoostForest paper's other ensembles, its experiments, and the program that runs and reports them."""

__version__ = "0.1.0"
