"""Speed of boostforest: beside other learners, of its kernels, with growing data, and from revision to revision.

====================================  =========================================================
``python -m benchmarks.speed run``      fit, predict, one row, memory, model size of eight learners
``python -m benchmarks.speed kernels``  share of the processor's peak that the ridge fits reach
``python -m benchmarks.speed scaling``  time against rows, features, classes, leaves, trees, threads
``python -m benchmarks.speed memory``   peak memory of a fit by the type of the coefficients
``python -m benchmarks.speed compare``  this working tree against another revision
====================================  =========================================================
"""
