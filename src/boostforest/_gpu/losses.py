"""Losses of the core in tensors: rows in the second last dimension, outputs in the last (``src/core/losses``)."""

from __future__ import annotations

import torch

_LONGEST = 4.0  # pseudo-label of a class
_SMALLEST_WEIGHT = 2 * 2.220446049250313e-16


def row_losses(loss: str, y: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Return the loss of every row."""
    if loss == "squared":
        return (y - scores[..., 0]) ** 2
    if loss == "logistic":
        f = scores[..., 0]
        return torch.log1p(torch.exp(-f.abs())) + f.clamp(min=0) - y * f
    own = scores.gather(-1, y.long().unsqueeze(-1)).squeeze(-1)
    return torch.logsumexp(scores, -1) - own


def derivatives(loss: str, y: torch.Tensor, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return g and h of every output; None: h is 1."""
    if loss == "squared":
        return scores - y.unsqueeze(-1), None
    if loss == "logistic":
        p, truth = torch.sigmoid(scores), y.unsqueeze(-1)
    else:
        p = torch.softmax(scores, -1)
        truth = (y.unsqueeze(-1) == torch.arange(scores.shape[-1], device=y.device)).to(p.dtype)
    return p - truth, p * (1 - p)


def pseudo_labels(
    loss: str, y: torch.Tensor, scores: torch.Tensor, w: torch.Tensor, shared: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what models are fitted to, per output, and with which weights: one for all outputs, or one for each."""
    g, h = derivatives(loss, y, scores)
    if h is None:
        return -g, w.unsqueeze(-1)
    if shared and loss == "softmax":
        h = h.amax(-1, keepdim=True).clamp(min=_SMALLEST_WEIGHT)
        return (-g / h).clamp(-_LONGEST, _LONGEST), w.unsqueeze(-1) * h
    ratio = torch.where(h > 0, -g / torch.where(h > 0, h, 1.0), -g * _LONGEST)
    return ratio.clamp(-_LONGEST, _LONGEST), w.unsqueeze(-1) * h.clamp(min=_SMALLEST_WEIGHT)


def centred(values: torch.Tensor, dim: int) -> torch.Tensor:
    """Return outputs that add up to zero, as in LogitBoost; a single one stays as it is."""
    n = values.shape[dim]
    if n == 1:
        return values
    return (1 - 1 / n) * (values - values.mean(dim, keepdim=True))
