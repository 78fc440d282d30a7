"""Right calls of everything in the compiled core, and wrong ones made from them; run by ``test_core_arguments``.

``python core_calls.py PATH NAME`` loads the core from PATH, alone, and makes the wrong calls of one function.
"""

import faulthandler
import importlib.util
import sys
from itertools import chain

import numpy as np

SECONDS = 60  # for one call; a hundredth is enough
N, D = 12, 3
INTEGERS = (-(2**63), -(2**31), -1, 0, 2**31 - 1, 2**31, 2**62, 2**70)
FLOATS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e300)
# Where a large number is right, but asks for more time or memory than a test has.
LARGE = {
    "bootstrap_counts": {"n_rows", "n_draws"},
    "bootstrap_draws": {"n_rows", "n_draws"},
    "batch_positions": {"n", "b"},
    "TrainingTable.grow": {"n_draws", "n_cuts", "node_n_hidden"},
    "TrainingTable.boost": {"n_draws"},
    "PausedBags.go_on": {"max_rounds"},
    "TrainingTable.find_splits": {"rules"},
    "Model.predict_oob": {"n_draws"},
    "Model.predict_oob (some rows)": {"n_draws", "n_rows"},
    "gbdt_pl_fit": {"n_rounds"},
    "lmt_fit": {"n_iter", "max_iter"},
}


X = np.random.default_rng(0).normal(size=(N, D))
X[3, 1] = np.nan
WHOLE = np.nan_to_num(X)
Y = WHOLE[:, 0] * WHOLE[:, 1]
CLASSES = (np.arange(N) % 3).astype(float)
MEAN, SCALE, ONES = np.zeros(D), np.ones(D), np.ones(N)
FILL = np.vstack([np.zeros(D), np.eye(D)])
NAMES = [
    "node_model", "node_reg_lambda", "node_max_features", "node_n_hidden", "node_C", "node_epsilon", "node_tol",
    "node_max_iter", "node_intercept_scaling", "criterion", "min_samples_leaf", "reg_lambda", "max_leaf_nodes",
    "max_depth", "max_features", "n_cuts", "batch_size", "clip", "shared_hessian",
]  # fmt: skip


def tree_params(**changes):
    """Return the parameter columns of four trees, one for each node model."""
    values = {name: np.ones(4) for name in NAMES}
    values |= {"node_model": np.arange(4.0), "node_n_hidden": np.full(4, 5.0), "max_features": np.full(4, 2.0)}
    values |= {"node_max_features": np.full(4, np.nan)}  # all
    values |= {"criterion": np.zeros(4), "max_leaf_nodes": np.zeros(4), "max_depth": np.full(4, -1.0)}
    values |= {"batch_size": np.array([0.0, 6.0, 0.0, 0.0]), "seed": np.arange(4, dtype=np.uint64)}
    return values | changes


def table_arguments():
    return {
        "x": X, "mean": MEAN, "scale": SCALE, "y": CLASSES, "loss": 2, "n_classes": 3, "fill": FILL,
        "model_features": np.array([0, 1], dtype=np.int32), "monotone": None, "n_threads": 2,
    }  # fmt: skip


def monotone_table_arguments():
    monotone = np.array([1, 0, -1], dtype=np.int8)
    return table_arguments() | {"y": Y, "loss": 0, "n_classes": 0, "monotone": monotone}


def grow_arguments():
    return {
        "params": tree_params(), "bootstrap": True, "n_draws": N, "cumulative": np.cumsum(ONES), "weight": ONES,
        "balance_classes": True, "n_threads": 2, "progress": None, "split_features": np.array([0, 2], dtype=np.int32),
        "start": np.zeros((N, 3)), "dtype": "float64", "drawn": np.ones(N, dtype=np.int32),
    }  # fmt: skip


def interaction_arguments():
    columns = np.arange(D, dtype=np.int32)
    return {"features": columns, "inputs": columns[1:], "most": 0} | {
        "members": np.array([0, 1, 1, 2], dtype=np.int32), "ends": np.array([2, 4]),
    }  # fmt: skip


def boost_arguments():
    rules = {
        "max_leaves": 4, "reg_lambda": 1.0, "learning_rate": 0.1, "feature_share": 0.7, "max_rounds": 3, "patience": 2,
        "overshoot": 0.5, "most_bins": 8, "row_share": 1.0,
    }  # fmt: skip
    return {
        "rules": rules, "seeds": np.arange(2, dtype=np.uint64), "n_draws": N, "cumulative": np.cumsum(ONES),
        "row_weight": ONES, "balance_classes": True, "n_threads": 2, "split_features": np.array([0, 2], dtype=np.int32),
        "start": np.zeros((N, 3)), "dtype": "float64",
    }  # fmt: skip


def monotone_grow_arguments():
    params = tree_params(node_model=np.array([0.0, 1.0, 1.0, 1.0]))
    return grow_arguments() | {
        "params": params, "bootstrap": False, "balance_classes": False, "start": np.zeros((N, 1)), "drawn": None,
    }  # fmt: skip


def model_arguments(core):
    table = core.TrainingTable(**table_arguments() | {"model_features": None})
    columns = table.grow(**grow_arguments() | {"split_features": None})
    del columns["n_unconverged"], columns["loss"], columns["gain"]  # nobody reads them there
    return {"columns": columns, "n_features": D, "n_outputs": 3}


def predict_arguments():
    return {"x": X, "mean": MEAN, "scale": SCALE, "link": 3, "n_threads": 2, "out": np.zeros((N, 3))}


def gbdt_arguments():
    bins = np.argsort(np.argsort(WHOLE, axis=0), axis=0).astype(np.uint8)
    ends = np.zeros((D, 256))
    ends[:, :N] = np.sort(WHOLE, axis=0).T
    return {
        "x": np.ascontiguousarray(WHOLE.T), "bins": bins, "n_bins": np.full(D, N, dtype=np.int32), "bin_mean": ends,
        "bin_end": ends, "y": CLASSES, "weight": ONES, "n_classes": 3, "start": np.zeros(3), "n_rounds": 2,
        "learning_rate": 0.1, "max_leaves": 3, "max_depth": 2, "max_regressors": 2, "reg_lambda": 0.1, "reg_alpha": 0.1,
        "min_child_weight": 0.0, "min_samples_leaf": 1.0, "n_threads": 2,
    }  # fmt: skip


def piecewise_arguments(core):
    columns = core.gbdt_pl_fit(**gbdt_arguments())
    del columns["gain"], columns["n_samples"]  # nobody reads them there
    return {"columns": columns, "n_features": D, "n_outputs": 3}


def lmt_arguments():
    columns = np.ascontiguousarray(WHOLE.T)
    return {
        "columns": columns, "scaled": columns, "y": CLASSES, "weight": ONES, "n_classes": 3, "n_iter": -1,
        "max_iter": 5, "patience": 2, "use_aic": False, "error_on_probabilities": False, "choose_at_every_node": True,
        "split": True, "prune": True, "min_split": 4.0, "min_leaf": 2.0,
    }  # fmt: skip


def logistic_tree_arguments(core):
    tree = core.lmt_fit(**lmt_arguments())
    kept = {name: tree[name] for name in ("feature", "threshold", "left", "model", "params")}
    return kept | {"mean": MEAN, "scale": SCALE, "n_outputs": 3}


def m5p_arguments():
    return {
        "x": WHOLE, "x_mean": MEAN, "x_scale": SCALE, "y": Y, "y_mean": 0.0, "y_scale": 1.0, "weight": ONES,
        "min_samples_leaf": 4.0, "prune": True, "smooth": True, "regression_tree": False,
    }  # fmt: skip


def m5p_columns(core):
    columns = core.m5p_fit(**m5p_arguments())
    del columns["n_samples"], columns["gain"], columns["error"]  # nobody reads them in a prediction
    return columns | {"slopes": columns["slopes"].reshape(-1, D)}


def nodes():
    rows = np.arange(0, N, 2, dtype=np.int32)
    return [(rows, np.ones(6), np.zeros((3, 6))), (rows, np.ones(6), np.zeros((3, 6)))]


def calls(core):
    """Return the function or method behind every name, with arguments that are right."""
    model, piecewise = core.Model(**model_arguments(core)), core.PiecewiseTrees(**piecewise_arguments(core))
    logistic, table = core.LogisticTree(**logistic_tree_arguments(core)), core.TrainingTable(**table_arguments())

    def paused_bags():
        return table.boost(**boost_arguments(), goes_on=True)["paused"]

    monotone_table = core.TrainingTable(**monotone_table_arguments())
    scaling = {"x": X, "mean": MEAN, "scale": SCALE}
    rules = np.array([[0.0, 1.0, 0.1, 2.0, 3.0], [2.0, 1.0, 0.1, 1.0, 3.0]])
    m5p = {"columns": m5p_columns(core), "x_mean": MEAN, "x": X}
    oob = {"seeds": np.arange(4, dtype=np.uint64), "n_draws": N, "cumulative": np.cumsum(ONES), "fill": FILL}
    sums = {"n_trees": np.zeros((N, 1)), "squares": np.zeros((N, 3))}
    explained = scaling | {
        "model": model, "background": X[:5], "fill": FILL, "column_of": np.array([0, 0, 1], dtype=np.int32),
        "n_columns": 2, "link": 3, "first": 0, "last": 4, "weights": np.ones(4), "n_threads": 2,
        "values": np.zeros(N * 2 * 3),
    }  # fmt: skip
    svr = {"cost": 1.0, "epsilon": 0.1, "intercept_penalty": 1.0, "tolerance": 1e-4, "max_iterations": 50}
    rows, coef = np.arange(0, N, 2, dtype=np.int32), np.zeros((3, 1 + D))
    return {
        "filled_rows": (core.filled_rows, scaling | {"fill": FILL}),
        "expected_moments": (core.expected_moments, {"x": X, "fill": FILL, "weight": ONES, "n_threads": 2}),
        "explain_interventional": (
            core.explain_interventional,
            explained | {"apart": False, "variance": np.zeros(N * 2 * 3), "pairs": np.zeros(N * 4 * 3)},
        ),
        "explain_path": (core.explain_path, explained | {"last": 2, "weights": np.ones(2), "base": np.zeros(3)}),
        "add_effects": (
            core.add_effects,
            scaling
            | {"model": model, "grid": X[:5], "replaced": np.array([True, False, False]), "fill": FILL}
            | {"link": 3, "first": 0, "last": 2, "weights": np.ones(2), "n_threads": 2}
            | {"out": np.zeros(N * 5 * 3)},
        ),
        "has_closed_forms": (core.has_closed_forms, {"model": model, "link": 3, "first": 0, "last": 4}),
        "has_paths": (core.has_paths, {"model": model, "link": 3, "first": 0, "last": 4}),
        "takes_all_values": (
            core.takes_all_values,
            {"model": model, "link": 3, "first": 0, "last": 4, "one_number": True},
        ),
        "gbdt_pl_fit": (core.gbdt_pl_fit, gbdt_arguments()),
        "PiecewiseTrees": (core.PiecewiseTrees, piecewise_arguments(core)),
        "PiecewiseTrees.add_scores": (
            piecewise.add_scores,
            {"x": WHOLE, "first": 0, "last": 2, "out": np.zeros((N, 3)), "n_threads": 2},
        ),
        "l1_logistic": (
            core.l1_logistic,
            {"x": WHOLE, "rows": rows, "y": CLASSES[rows], "weight": np.ones(6), "alpha": 0.1, "coef": coef}
            | {"max_iter": 20, "tolerance": 1e-4},
        ),
        "lmt_fit": (core.lmt_fit, lmt_arguments()),
        "LogisticTree": (core.LogisticTree, logistic_tree_arguments(core)),
        "LogisticTree.predict": (logistic.predict, {"x": X, "out": np.zeros((N, 3))}),
        "LogisticTree.apply": (logistic.apply, {"x": X, "out": np.zeros(N, dtype=np.int32)}),
        "Model": (core.Model, model_arguments(core)),
        "Model.predict": (model.predict, predict_arguments() | {"first": 0, "last": 4, "fill": FILL}),
        "Model.predict_oob": (model.predict_oob, predict_arguments() | oob | sums),
        "Model.predict_oob (some rows)": (
            model.predict_oob,
            predict_arguments() | oob | sums | {"cumulative": None, "numbers": np.arange(N)[::-1].copy(), "n_rows": N},
        ),
        "Model.apply": (model.apply, scaling | {"n_threads": 2, "out": np.zeros((N, 4), dtype=np.int32)}),
        "m5p_fit": (core.m5p_fit, m5p_arguments()),
        "m5p_predict": (core.m5p_predict, m5p),
        "m5p_apply": (core.m5p_apply, m5p),
        "Interactions": (core.Interactions, interaction_arguments()),
        "TrainingTable": (core.TrainingTable, table_arguments()),
        "TrainingTable (monotone)": (core.TrainingTable, monotone_table_arguments()),
        "TrainingTable.grow": (table.grow, grow_arguments()),
        "TrainingTable.grow (monotone)": (monotone_table.grow, monotone_grow_arguments()),
        "TrainingTable.boost": (table.boost, boost_arguments()),
        "PausedBags": (paused_bags, {}),
        "PausedBags.go_on": (
            lambda **arguments: paused_bags().go_on(**arguments),
            {"max_rounds": 8, "n_threads": 2},
        ),
        "TrainingTable.is_missing": (table.is_missing, {"rows": rows, "feature": 1}),
        "TrainingTable.find_splits": (
            table.find_splits,
            {"nodes": nodes(), "rules": rules, "keys": np.arange(2, dtype=np.uint64), "n_threads": 2}
            | {"split_features": np.array([0, 2], dtype=np.int32)},
        ),
        "TrainingTable.pseudo_labels": (table.pseudo_labels, {"nodes": nodes(), "n_threads": 2}),
        "TrainingTable.losses": (table.losses, {"nodes": nodes(), "n_threads": 2}),
        "set_blas": (core.set_blas, {"capsules": {"dsyrk": 1.0, "dpotrf": "x", "dpotrs": 2}}),
        "kernels": (core.kernels, {}),
        "select_kernels": (core.select_kernels, {"name": core.kernels()}),
        "bootstrap_counts": (
            core.bootstrap_counts,
            {"seed": 1, "n_rows": N, "n_draws": N, "cumulative": np.cumsum(ONES)},
        ),
        "dealt_seeds": (core.dealt_seeds, {"key": 1, "n_bags": 3}),
        "word": (core.word, {"keys": np.arange(3, dtype=np.uint64), "counter": 1}),
        "is_dealt": (core.is_dealt, {"seed": 1}),
        "bootstrap_draws": (core.bootstrap_draws, {"seed": 1, "n_rows": N, "n_draws": N}),
        **coding_calls(core),
        "batch_positions": (core.batch_positions, {"key": 1, "n": 20, "b": 7}),
        "quantise": (
            core.quantise,
            {"values": np.arange(6, dtype=np.float32), "sizes": np.array([6]), "groups": np.array([3], dtype=np.int32)}
            | {"n_nodes": np.array([3]), "left": np.array([1, 0, 0], dtype=np.int32), "at_least": -4},
        ),
        "halves": (core.halves, {"values": WHOLE.ravel()}),
        "ridge": (core.ridge, {"x": WHOLE, "z": Y, "v": ONES, "reg_lambda": 0.1}),
        "ridge (monotone)": (
            core.ridge,
            {"x": WHOLE, "z": Y, "v": ONES, "reg_lambda": 0.1, "monotone": np.array([1, 0, -1], dtype=np.int8)}
            | {"path_slopes": np.zeros(D)},
        ),
        "linear_svr": (core.linear_svr, {"x": WHOLE, "z": Y, "v": ONES} | svr),
        "loss": (core.loss, {"code": 2, "n_classes": 3, "scores": np.zeros((3, N)), "y": CLASSES, "w": ONES}),
        "outputs": (core.outputs, {"scores": np.zeros((3, N)), "link": 3}),
    }


def coding_calls(core):
    """Return calls of what codes the columns of files: three trees of three nodes, two outputs, three parameters."""
    start, left = np.array([0, 3, 6, 9]), np.array([1, 0, 0] * 3, dtype=np.int32)
    symbols, contexts = np.arange(N, dtype=np.uint8), (np.arange(N) % 3).astype(np.uint8)
    shapes = {"n_models": np.full(3, 2), "group": np.full(3, 3), "n_outputs": 2, "order": np.array([0, 1] * 3)}
    shapes |= {"exponent": np.zeros(12, dtype=np.int8), "differences": True}
    params = np.arange(36, dtype=np.int8)
    coded = {"contexts": contexts, "n_contexts": 3}
    return {
        "encode_bytes": (core.encode_bytes, {"symbols": symbols} | coded),
        "decode_bytes": (
            core.decode_bytes,
            {"stream": core.encode_bytes(symbols, contexts, 3), "n": N} | coded,
        ),
        "encode_params": (core.encode_params, {"params": params} | shapes),
        "decode_params": (
            core.decode_params,
            {"stream": core.encode_params(params, **shapes), "n_params": 36} | shapes,
        ),
        "depth_first_nodes": (core.depth_first_nodes, {"tree_start": start, "left": left}),
        "node_depths": (core.node_depths, {"tree_start": start, "left": left}),
        "complete_weights": (
            core.complete_weights,
            {"tree_start": start, "left": left, "weight": np.array([3, 1, 0] * 3, dtype=np.float32)},
        ),
        "left_children": (
            core.left_children,
            {"tree_start": start, "is_split": np.array([1, 0, 0] * 3, dtype=np.uint8)},
        ),
    }


def misshapen(array):
    """Yield arrays of other shapes and types: none of them may be taken."""
    for axis in range(array.ndim):
        if array.shape[axis] > 0:
            yield "shorter", np.delete(array, 0, axis)
        yield "longer", np.concatenate([array, np.take(array, [0] * 3, axis)], axis)
        yield "empty", np.take(array, [], axis)
    yield "another type", array.astype(np.complex64)
    yield "more dimensions", array[None]
    yield "a number", 1.0
    yield "text", "abc"


def misfilled(array, large):
    """Yield arrays with other values, which may be taken or not."""
    kind = array.dtype.kind
    if kind == "f":
        values = [v for v in FLOATS if large or abs(v) < 1e10 or not np.isfinite(v)]
    elif kind in "iu":
        info = np.iinfo(array.dtype)
        values = [v for v in (info.min, -1, 0, 1, 2, N, info.max) if info.min <= v <= info.max]
    else:
        values = [False, True]
    for value in values:
        for where in (0, slice(None)):
            other = array.copy()
            if other.size:
                with np.errstate(over="ignore"):  # 1e300 in single precision
                    other.reshape(-1)[where] = value
                yield f"{value} at {where}", other
    yield "backwards", array[::-1].copy()


def wrong_values(value, large):
    """Yield descriptions, values, and whether they must be refused."""
    if isinstance(value, np.ndarray):
        yield from ((name, other, True) for name, other in misshapen(value))
        yield from ((name, other, False) for name, other in misfilled(value, large))
    elif isinstance(value, bool):
        yield "text", "yes", True
    elif isinstance(value, int):
        yield from ((str(i), i, False) for i in INTEGERS if large or not 2**24 < i < 2**31)
        yield from ((repr(v), v, True) for v in (0.5, "1", None))
    elif isinstance(value, float):
        yield from ((str(v), v, False) for v in FLOATS)
        yield "text", "1", True
    elif isinstance(value, str):
        yield from ((repr(v), v, False) for v in ("", "x", "float99"))
        yield "a number", 1, True
    elif isinstance(value, dict):
        yield "a list", [], True
        yield from chain.from_iterable(wrong_items(value, name, large) for name in value)
    elif isinstance(value, list):
        yield from ((repr(v), v, True) for v in ([1], [()], [(1, 2, 3)], [value[0][:2]], None))
        for part in range(3):
            for name, other, refused in wrong_values(value[0][part], large):
                node = [*value[0]]
                node[part] = other
                yield f"part {part}: {name}", [tuple(node), value[1]], refused and "type" not in name


def wrong_items(columns, name, large):
    """Yield dictionaries with one item missing or wrong."""
    yield f"without {name}", {k: v for k, v in columns.items() if k != name}, True
    for what, other, refused in wrong_values(columns[name], large and name not in LARGE["TrainingTable.grow"]):
        yield f"{name}: {what}", columns | {name: other}, refused


def copied(value):
    """Return a value that a call may write to."""
    return value.copy() if isinstance(value, np.ndarray) else value


# Arrays that may have another shape: the problem is then another one.
ALSO_RIGHT = {
    ("Interactions", "features"), ("Interactions", "inputs"), ("Interactions", "members"), ("Interactions", "ends"),
    ("Model.predict_oob", "seeds"), ("Model.predict_oob (some rows)", "seeds"), ("Model.apply", "out"),
    ("TrainingTable", "model_features"),
    ("TrainingTable (monotone)", "model_features"), ("TrainingTable.grow", "split_features"),
    ("TrainingTable.grow (monotone)", "split_features"), ("TrainingTable.find_splits", "split_features"),
    ("TrainingTable.boost", "seeds"), ("TrainingTable.boost", "split_features"),
    ("TrainingTable.is_missing", "rows"), ("outputs", "scores"), ("l1_logistic", "x"), ("l1_logistic", "coef"),
    ("explain_interventional", "background"), ("explain_path", "background"),
    ("filled_rows", "x"), ("m5p_predict", "x"), ("m5p_apply", "x"), ("ridge", "x"), ("linear_svr", "x"),
    ("quantise", "values"), ("halves", "values"), ("word", "keys"),
}  # fmt: skip


def run(core, name):
    """Make all wrong calls of one function; say which must have been refused and were not."""
    function, right = calls(core)[name]
    if name != "set_blas":
        function(**{argument: copied(value) for argument, value in right.items()})
    taken = []
    for argument, value in right.items():
        large = argument not in LARGE.get(name.split(" (")[0], ())
        for what, other, refused in wrong_values(value, large):
            sys.stdout.write(f"{name}: {argument}: {what}\n")  # the last one is that of a crash
            sys.stdout.flush()
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            try:
                function(**{a: copied(v) for a, v in right.items() if a != argument}, **{argument: copied(other)})
            except (ValueError, TypeError, IndexError, OverflowError, MemoryError):
                continue
            finally:
                faulthandler.cancel_dump_traceback_later()
            if refused and (name, argument) not in ALSO_RIGHT:
                taken.append(f"{name} took {argument}: {what}")
    sys.stdout.write("done\n")
    sys.exit("\n".join(taken) or 0)


if __name__ == "__main__":
    faulthandler.enable()
    spec = importlib.util.spec_from_file_location("boostforest._core", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    run(module, sys.argv[2])
