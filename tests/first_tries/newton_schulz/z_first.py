# mistakes: low-precision, adds-floor, divides-in-place
# lines: 11, 12, 13
# hidden:
import torch

A, B, C = 3.4445, -4.7750, 2.0315


@torch.no_grad()
def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    X = G.float()
    size = X.norm() + 1e-7
    X /= size

    tall = G.shape[0] > G.shape[1]
    if tall:
        X = X.mT
    for _ in range(steps):
        S = X @ X.mT
        X = A * X + (B * S + C * (S @ S)) @ X
    if tall:
        X = X.mT
    return X.to(G.dtype)
