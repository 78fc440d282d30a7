"""How good a model is: figures beside those of simple models, calibration, intervals."""

from typing import Any

import numpy as np

from .. import plot
from ..plot._canvas import Canvas
from . import html
from .facts import Facts, Numbers, Probabilities, thinned
from .figures import MORE_IS_BETTER
from .html import Cell
from .pictures import Gallery

_MOST_CLASSES = 12  # of a confusion matrix
_MOST_POINTS = 1200  # of a picture


def how_good(facts: Facts, gallery: Gallery) -> str:
    """Compare the figures of the estimator with those of simple models, and show its errors."""
    names = list(facts.scores[0].figures)
    best: dict[str, float] = {}
    for name in names:
        honest = [v for row in facts.scores if row.is_honest and (v := row.figures[name]) is not None]
        better = MORE_IS_BETTER.get(name, False)
        if honest and better is not None:
            best[name] = max(honest) if better else min(honest)
    rows = []
    for row in facts.scores:
        looks = ["best" if row.is_honest and row.figures[name] == best.get(name, np.nan) else "" for name in names]
        cells = [html.number(row.figures[name], look) for name, look in zip(names, looks, strict=True)]
        rows.append([html.words(row.name, 80, "who"), *cells])
    heads = ["model", *(_head(name) for name in names)]
    looks = ["own", *("" if row.is_honest else "pale" for row in facts.scores[1:])]
    judged = html.table(heads, rows, looks) + f'<p class="note">{_how_judged(facts)}</p>'
    return judged + (_numbers_pictures(facts, gallery) if facts.classes is None else _class_pictures(facts, gallery))


def _head(name: str) -> str:
    better = MORE_IS_BETTER.get(name, False)
    return name if better is None else f"{name}\n{'more' if better else 'less'} is better"


def _how_judged(facts: Facts) -> str:
    if facts.out_of_bag:
        told = "Out of bag: every row is predicted by the trees that have not drawn it in their bootstrap samples."
        left = len(facts.y) - len(facts.counted)
        told += (
            f" Rows without weight, or that all trees of a stage have drawn, are left out ({left:,})." if left else ""
        )
    elif facts.rows.is_training:
        told = (
            "These are the rows of the fit, and there is no other way to judge them: figures of new rows will be worse."
        )
    elif facts.knows_its_rows:
        told = "These rows are not those of the fit."
    else:
        told = "The model comes from a file, without training rows: it cannot tell whether its fit has seen these rows."
        draws = facts.model.draws
        if draws is not None and draws[1] == len(facts.y):
            told += " There are as many of them as in its fit; if they are the same, figures of new rows will be worse."
    if len(facts.scores) > 1:
        told += " The two simple models are cross-validated on these rows (5 folds)."
    score = facts.model.known.score
    if score is not None and not facts.out_of_bag:
        told += f" In its fit the forest had an out-of-bag score of {html.tell(float(score))}."
    return told


def _figure(picture: str, caption: str) -> str:
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _numbers_pictures(facts: Facts, gallery: Gallery) -> str:
    intervals = facts.intervals
    known = Numbers(facts.judged[0], None if intervals is None else intervals.ends)
    some = thinned(facts.counted if intervals is None else intervals.rows, _MOST_POINTS)
    y = facts.y.astype(np.float64)
    found = [
        _figure(
            gallery.draw(lambda ax: plot.residuals(known, some, y[some], ax=ax), "observed over predicted", 4.6, 4.0),
            "Observed over predicted; on the dashed line predictions are right."
            + (f" {len(some):,} of {len(facts.counted):,} rows." if len(some) < len(facts.counted) else ""),
        ),
        _figure(
            gallery.draw(lambda ax: _draw_calibration(facts, ax), "calibration", 4.6, 4.0),
            f"Calibration: {_calibrated(facts)} of rows that are predicted alike, in ten groups of the same size; "
            "lines are 95 % intervals.",
        ),
    ]
    if intervals is not None:
        every = intervals.rows
        picture = gallery.draw(
            lambda ax: plot.intervals(known, every, y[every], ax=ax), "coverage of intervals", 4.6, 4.0
        )
        found.append(
            _figure(picture, "How often the 90 % prediction intervals hold the target; dashed: as often as asked.")
        )
    return f'<div class="pictures">{"".join(found)}</div>{_about_intervals(facts)}'


def _calibrated(facts: Facts) -> str:
    return "the mean target" if facts.model.loss.predicts_mean else "the share of targets below their prediction"


def _draw_calibration(facts: Facts, ax: Any) -> None:
    """Draw what was observed in groups of rows with similar predictions, against what was predicted."""
    every, loss = facts.counted, facts.model.loss
    predicted, y = facts.judged[0][every], facts.y[every].astype(np.float64)
    weight = np.ones(len(every)) if facts.weight is None else facts.weight[every]
    observed = y if loss.predicts_mean else (y <= predicted).astype(np.float64)
    groups = np.array_split(np.argsort(predicted, kind="stable"), min(10, len(every)))
    at, mean, error = (np.zeros(len(groups)) for _ in range(3))
    for i, rows in enumerate(groups):
        share = weight[rows] / weight[rows].sum()
        at[i], mean[i] = predicted[rows] @ share, observed[rows] @ share
        error[i] = np.sqrt((observed[rows] - mean[i]) ** 2 @ share**2)
    c = Canvas(ax, 0, 0)
    if loss.predicts_mean:
        ax.plot(at[[0, -1]], at[[0, -1]], color=c.soft(0.45), linewidth=1, linestyle="--")
    else:
        ax.axhline(getattr(loss, "quantile", 0.5), color=c.soft(0.45), linewidth=1, linestyle="--")
    ax.vlines(at, mean - 1.96 * error, mean + 1.96 * error, colors=c.up, linewidth=1.4, alpha=0.6)
    ax.plot(at, mean, marker="o", markersize=5, linestyle="none", color=c.up)
    c.style()
    ax.set(xlabel="mean prediction", ylabel="mean target" if loss.predicts_mean else "share below")


def _about_intervals(facts: Facts) -> str:
    if facts.intervals is not None:
        rows = facts.intervals.rows
        low, high = facts.intervals.ends[rows].T
        inside = np.mean((low <= facts.y[rows]) & (facts.y[rows] <= high))
        width = html.tell(float(np.median(high - low)))
        held = html.percent(float(inside))
        return f"<p>The 90 % intervals hold {held} of the targets; half of them are no wider than {width}.</p>"
    if facts.rows.is_training and facts.model.known.left_out is not None:
        told = "The forest has prediction intervals, but only rows that its fit has not seen tell how often they hold."
    else:
        told = "There are no prediction intervals: a forest of 40 trees or more has them, or one with oob_score=True."
    return f'<p class="note">{told}</p>'


def _class_pictures(facts: Facts, gallery: Gallery) -> str:
    classes, every = facts.classes, facts.counted
    assert classes is not None
    known = Probabilities(facts.judged[0], classes)
    picture = gallery.draw(lambda ax: plot.calibration(known, every, facts.y[every], ax=ax), "calibration", 4.6, 4.4)
    found = [
        _figure(picture, "Calibration: how often a class comes true against its probability. The bars count rows.")
    ]
    if 1 < len(classes) <= _MOST_CLASSES:
        found.append(f"<figure>{_confusion(facts)}</figure>")
    return f'<div class="pictures">{"".join(found)}</div>{_about_sets(facts)}'


def _confusion(facts: Facts) -> str:
    classes = facts.classes
    assert classes is not None
    every = facts.counted
    predicted = facts.judged[0][every].argmax(axis=1)
    rows = []
    for label in classes:
        here = facts.y[every] == label
        counts = np.bincount(predicted[here], minlength=len(classes))
        shares = counts / max(counts.sum(), 1)
        cells = [
            Cell(
                f'<span title="{html.percent(float(s))} of the class">{n:,}</span>',
                int(n),
                True,
                f"heat h{round(10 * s)}",
            )
            for n, s in zip(counts, shares, strict=True)
        ]
        right = float(shares[list(classes).index(label)])
        rows.append([html.words(label, 24), *cells, Cell(html.percent(right), right, True)])
    heads = ["observed", *(str(label)[:16] for label in classes), "right"]
    return html.table(heads, rows, caption="Rows by their observed class (left) and the most probable one (above)")


def _about_sets(facts: Facts) -> str:
    if facts.rows.is_training or not hasattr(facts.estimator, "predict_set") or facts.model.known.conformity is None:
        return ""
    sets = np.asarray(facts.estimator.predict_set(facts.X))[facts.counted]
    assert facts.classes is not None
    held = sets[facts.y[facts.counted][:, None] == facts.classes].mean()
    told = f"The 90 % sets of classes hold {html.percent(float(held))} of the observed ones"
    return f"<p>{told}, with {html.tell(float(sets.sum(axis=1).mean()))} classes on average.</p>"
