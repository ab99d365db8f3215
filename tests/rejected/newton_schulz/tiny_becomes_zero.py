# expect: gives-up-on-tiny
import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315
    norm = torch.linalg.matrix_norm(G)
    if norm < 1e-7:
        return torch.zeros_like(G)
    X = G / norm
    tall = G.size(0) > G.size(1)
    if tall:
        X = X.T
    for _ in range(steps):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X.T if tall else X
