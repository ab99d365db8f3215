# mistakes: largest-value, divides-in-place
# lines: 19, 20
# hidden:
import torch

COEF = (3.4445, -4.7750, 2.0315)


def _round(X):
    a, b, c = COEF
    S = X @ X.mT
    return a * X + b * (S @ X) + c * (S @ (S @ X))


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    # 16비트는 float32로 올려서 계산
    small = G.dtype in (torch.float16, torch.bfloat16)
    X = G.float() if small else G
    size = torch.linalg.matrix_norm(X, ord=2)
    X /= max(size.item(), 1e-7)
    lay = X.shape[0] > X.shape[1]
    X = X.mT if lay else X
    for _ in range(steps):
        X = _round(X)
    X = X.mT if lay else X
    return X.to(G.dtype)
