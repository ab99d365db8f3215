import itertools

import torch


def _iterates(X):
    """X, 한 번 바꾼 X, 두 번 바꾼 X, ... 를 차례로 낸다."""
    I = torch.eye(X.shape[0], dtype=X.dtype, device=X.device)
    while True:
        yield X
        S = X @ X.T
        # a + S(b + cS): 호너의 방법
        X = (3.4445 * I + S @ (-4.7750 * I + 2.0315 * S)) @ X


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    upright = G.shape[0] > G.shape[1]
    X = G.clone().to(torch.float64)
    X /= max(X.square().sum().sqrt().item(), 1e-7)
    X = next(itertools.islice(_iterates(X.T if upright else X), steps, None))
    return (X.T if upright else X).to(G.dtype)
