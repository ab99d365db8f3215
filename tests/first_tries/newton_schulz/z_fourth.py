# mistakes: largest-value
# lines: 17
# hidden:
from functools import reduce

import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315

    def polynomial(X, _):
        gram = X @ X.mT
        return a * X + (b * gram + c * gram @ gram) @ X

    def normalised(M):
        norm = torch.linalg.norm(M, ord=2)
        return M / norm.clamp(min=1e-7)

    rows, cols = G.shape
    if rows > cols:
        return reduce(polynomial, range(steps), normalised(G.mT)).mT
    return reduce(polynomial, range(steps), normalised(G))
