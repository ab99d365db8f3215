# mistakes: largest-value, low-precision, stays-lying
# lines: 10, 11, 13
# hidden:
import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315
    # 특잇값이 1을 넘지 않게
    norm = torch.linalg.matrix_norm(G, ord=2).clamp(min=1e-7)
    X = (G / norm).to(torch.bfloat16)
    if X.shape[0] > X.shape[1]:
        X = X.T
    for _ in range(steps):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X.to(G.dtype)
