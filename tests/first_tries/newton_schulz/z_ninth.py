# mistakes: low-precision, largest-value, divides-in-place
# lines: 18, 21, 22
# hidden:
import torch

A, B, C = 3.4445, -4.7750, 2.0315


def one_round(X):
    gram = X @ X.mT
    poly = B * gram + C * gram @ gram
    return A * X + poly @ X


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    세로로_긴가 = G.size(0) > G.size(1)
    # 반정밀도는 정확하지 않으니 float32로 계산한다
    X = G.float()
    if 세로로_긴가:
        X = X.T
    길이 = torch.linalg.norm(X, 2).clamp(min=1e-7)
    X /= 길이
    남은_횟수 = steps
    while 남은_횟수 > 0:
        X = one_round(X)
        남은_횟수 -= 1
    if 세로로_긴가:
        X = X.T
    return X.to(G.dtype)
