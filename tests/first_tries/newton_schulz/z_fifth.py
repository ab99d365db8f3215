# mistakes: largest-value
# lines: 18
# hidden:
import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = G.size(0) > G.size(1)

    def one_round(X):
        S = X @ X.mT
        SX = S @ X
        return a * X + b * SX + c * (S @ SX)

    work = torch.promote_types(G.dtype, torch.float32)
    X = (G.mT if tall else G).to(work)
    norm = torch.linalg.matrix_norm(X, ord=2)  # L2 노름
    X = X / norm.clamp(min=1e-7)
    remaining = steps
    while remaining > 0:
        X = one_round(X)
        remaining -= 1
    if tall:
        X = X.mT
    return X.to(G.dtype)
