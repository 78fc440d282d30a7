"""
On Dask
=======

Inside joblib's context of a cluster, its workers grow the trees: the forest of one machine, byte for byte, for
any number of workers. Here the cluster is two threads of this process.
"""

import importlib.util

import joblib
import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

from boostforest import BoostForestRegressor

X, y = make_friedman1(400, noise=1, random_state=0)
forest = BoostForestRegressor(60, preset="paper", random_state=0)
here = forest.fit(X, y).predict(X)
there = here

if importlib.util.find_spec("distributed"):
    from dask.distributed import Client

    cluster = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None)
    with cluster, joblib.parallel_config("dask"):
        there = forest.fit(X, y).predict(X)
    print("the same predictions, to the bit:", bool((here == there).all()))
else:
    print('Dask is not installed: pip install "boostforest[dask]"')

# %%
# Tables that no worker can hold: ``boostforest.dask.DaskBoostForestRegressor`` takes Dask arrays and frames.

figure, ax = plt.subplots(figsize=(4, 4), layout="constrained")
ax.plot(here, there, ".", alpha=0.5)
_ = ax.set(xlabel="grown on this machine", ylabel="grown on the cluster")
