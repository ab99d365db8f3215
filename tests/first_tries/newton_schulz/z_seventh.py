# mistakes: divides-in-place, no-floor, always-five
# lines: 16, 16, 17
# hidden:
import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315

    def improve(X):
        gram = X @ X.T
        return a * X + (b * gram + c * gram @ gram) @ X

    is_tall = G.size(0) > G.size(1)
    X = G.T if is_tall else G
    X /= X.norm()
    for _ in range(5):
        X = improve(X)
    return X.T if is_tall else X
