# mistakes: adds-floor, divides-in-place, loses-the-square
# lines: 12, 13, 16
# hidden:
import torch


@torch.no_grad()
def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = G.size(0) > G.size(1)
    X = G.T if tall else G
    norm = X.norm() + 1e-7
    X.div_(norm)
    for _ in range(steps):
        A = X @ X.T
        B = b * A + c * A
        X = a * X + B @ X
    return X.T if tall else X
