# mistakes: norm-every-time
# lines: 17
# hidden:
import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G.clone()
    transposed = X.shape[0] > X.shape[1]
    if transposed:
        X = X.transpose(0, 1)
    step = 0
    X = X / X.norm().clamp_min(1e-7)
    while step < steps:
        # 커지지 않도록 걸음마다 맞춥니다
        X = X / X.norm().clamp_min(1e-7)
        A = X @ X.transpose(0, 1)
        X = a * X + (b * A + c * (A @ A)) @ X
        step += 1
    return X.transpose(0, 1) if transposed else X
