# mistakes: norm-of-rows, no-floor, squares-elements
# lines: 15, 16, 20
# hidden:
import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = (3.4445, -4.7750, 2.0315)
    transposed = False
    X = G.clone()
    if G.shape[0] > G.shape[1]:
        X = X.T
        transposed = True

    length = X.norm(dim=1, keepdim=True)
    X = X / length

    for i in range(steps):
        A = X @ X.T
        X = a * X + b * A @ X + c * A**2 @ X
    if transposed:
        X = X.T
    return X
