# expect: transposes-wide
import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315
    X = G / G.norm().clamp(min=1e-7)
    flip = G.size(0) < G.size(1)
    if flip:
        X = X.T
    for _ in range(steps):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X.T if flip else X
