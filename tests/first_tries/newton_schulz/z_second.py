# mistakes: divides-in-place, no-floor, always-five
# lines: 21, 20, 24
# hidden:
import torch

A, B, C = 3.4445, -4.7750, 2.0315


def _one_round(X):
    gram = X @ X.T
    mix = B * gram + C * (gram @ gram)
    return A * X + mix @ X


@torch.no_grad()
def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    is_tall = G.size(0) > G.size(1)
    X = G.T if is_tall else G

    frobenius_norm = X.norm()
    X /= frobenius_norm

    done = 0
    while done < 5:
        X = _one_round(X)
        done += 1

    if is_tall:
        return X.T
    else:
        return X
