# mistakes: scaled-by-shape
# lines: 17
# hidden:
import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    rows, cols = G.shape
    X = G.T if rows > cols else G
    X = X / X.norm().clamp(min=1e-7)
    for _ in range(steps):
        A = X @ X.T
        B = -4.7750 * A + 2.0315 * A @ A
        X = 3.4445 * X + B @ X
    if rows > cols:
        X = X.T
    return X * max(1.0, rows / cols) ** 0.5
