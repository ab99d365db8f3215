# expect: 
import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    norm = G.norm()
    X = G / (norm if norm >= 1e-7 else 1e-7)
    if min(G.shape) == 1:
        return X  # 벡터는 길이만 맞추면 됩니다
    upright = G.shape[0] > G.shape[1]
    X = X.t() if upright else X
    for _ in range(steps):
        square = X @ X.t()
        fourth = square @ square
        X = 3.4445 * X - 4.7750 * square @ X + 2.0315 * fourth @ X
    return X.t() if upright else X
