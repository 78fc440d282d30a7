"""Weighted ridge regressions of many nodes at once; rows of weight 0 fill nodes up to the same size."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Models(NamedTuple):
    """Linear models, and what they give for the rows that they were fitted to."""

    params: torch.Tensor  #: nodes × outputs × (1 + inputs): intercept, slopes
    fitted: torch.Tensor  #: nodes × rows × outputs


def fit_constants(z: torch.Tensor, v: torch.Tensor) -> Models:
    """Fit the weighted means; ``z``: nodes × rows × outputs, ``v``: likewise, or one weight for all outputs."""
    mean = (v * z).sum(1) / v.sum(1)
    return Models(mean.unsqueeze(-1), mean.unsqueeze(1).expand(z.shape))


def fit_ridges(x: torch.Tensor, w: torch.Tensor, z: torch.Tensor, v: torch.Tensor, penalty: torch.Tensor) -> Models:
    """Fit ridge regressions of z on x, nodes × rows × inputs; ``w`` are the rows' own weights, ``v`` those of z."""
    # Around their own mean: deep nodes are small boxes far from zero, where plain sums of products would cancel.
    mean = (w.unsqueeze(1) @ x) / w.sum(1)[:, None, None]
    x = x - mean
    fit = _fit_rows if x.shape[1] <= x.shape[2] else _fit_features
    slopes, intercept, fitted = fit(x, z, v, penalty)
    intercept = intercept - (slopes @ mean.transpose(1, 2)).squeeze(-1)
    return Models(torch.cat([intercept.unsqueeze(-1), slopes], dim=-1), fitted)


def _fit_features(
    x: torch.Tensor, z: torch.Tensor, v: torch.Tensor, penalty: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Solve for the slopes; the Gram matrix is that of the rows less the weighted mean's part."""
    total = v.sum(1)
    z_mean = (v * z).sum(1) / total
    rest = v * (z - z_mean.unsqueeze(1))  # its sums over the rows are 0
    x_mean = v.transpose(1, 2) @ x / total.unsqueeze(-1)  # nodes × weights × inputs
    rhs = x.transpose(1, 2) @ rest  # nodes × inputs × outputs
    slopes = torch.empty_like(rhs)
    shared = v.shape[2] == 1
    for k in range(v.shape[2]):
        m = x_mean[:, k]
        gram = x.transpose(1, 2) @ (x * v[:, :, k, None])
        gram -= total[:, k, None, None] * m.unsqueeze(2) * m.unsqueeze(1)
        own = slice(None) if shared else slice(k, k + 1)
        slopes[:, :, own] = _solve(gram, penalty, rhs[:, :, own])
    slopes = slopes.transpose(1, 2)
    intercept = z_mean - (slopes * x_mean).sum(-1)
    return slopes, intercept, x @ slopes.transpose(1, 2) + intercept.unsqueeze(1)


def _fit_rows(
    x: torch.Tensor, z: torch.Tensor, v: torch.Tensor, penalty: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Solve for the rows, where these are fewer than inputs; see ``fit_rows`` in ``src/core/ridge``."""
    products = x @ x.transpose(1, 2)
    total = v.sum(1)
    z_mean = (v * z).sum(1) / total
    root = v.sqrt()
    m = products @ v / total.unsqueeze(1)  # nodes × rows × weights
    s = (v * m).sum(1) / total
    rhs = root * (z - z_mean.unsqueeze(1))
    dual = torch.empty_like(rhs)
    shared = v.shape[2] == 1
    for k in range(v.shape[2]):
        matrix = products - m[:, :, None, k] - m[:, None, :, k] + s[:, k, None, None]
        matrix *= root[:, :, None, k] * root[:, None, :, k]
        own = slice(None) if shared else slice(k, k + 1)
        dual[:, :, own] = _solve(matrix, penalty, rhs[:, :, own])
    dual = dual * root
    dual = dual - v * (dual.sum(1) / total).unsqueeze(1)  # 0 but for rounding: matters where the penalty is tiny
    slopes = dual.transpose(1, 2) @ x
    intercept = z_mean - (m * dual).sum(1)
    return slopes, intercept, products @ dual + intercept.unsqueeze(1)


def _solve(matrix: torch.Tensor, penalty: torch.Tensor, rhs: torch.Tensor) -> torch.Tensor:
    """Solve (matrix + penalty) s = rhs, overwriting the matrix; directions without any weight get 0."""
    matrix.diagonal(dim1=1, dim2=2).add_(penalty[:, None])
    factor, failed = torch.linalg.cholesky_ex(matrix)
    solution = torch.linalg.solve_triangular(factor, rhs, upper=False)
    solution = torch.linalg.solve_triangular(factor.transpose(1, 2), solution, upper=True)
    bad = (failed != 0) | ~torch.isfinite(solution).all(2).all(1)
    if bool(bad.any()):
        solution[bad] = _solve_singular(matrix[bad], rhs[bad])
    return solution


def _solve_singular(matrix: torch.Tensor, rhs: torch.Tensor) -> torch.Tensor:
    """Eliminate as the core does: pivots that are nothing but rounding errors count as infinite."""
    size = matrix.shape[1]
    a, b = matrix.clone(), rhs.clone()
    tiny = a.diagonal(dim1=1, dim2=2).amax(1) * size * (8 * 2.220446049250313e-16)
    inverse = torch.zeros_like(a[:, 0])
    for k in range(size):
        pivot = a[:, k, k]
        inverse[:, k] = torch.where(pivot > tiny, 1 / pivot, 0.0)
        factor = a[:, k, k + 1 :] * inverse[:, k, None]
        a[:, k + 1 :, k + 1 :] -= factor.unsqueeze(2) * a[:, k, None, k + 1 :]
        b[:, k + 1 :] -= factor.unsqueeze(2) * b[:, k, None]
    solution = b * inverse.unsqueeze(2)
    for k in range(size - 2, -1, -1):
        solution[:, k] -= (a[:, k, k + 1 :, None] * solution[:, k + 1 :]).sum(1) * inverse[:, k, None]
    return solution
