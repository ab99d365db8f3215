import torch


def _poly(X, left):
    if left == 0:
        return X
    A = X @ X.mT
    return _poly(3.4445 * X + (-4.7750 * A + 2.0315 * (A @ A)) @ X, left - 1)


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    rows, cols = G.shape
    if rows > cols:
        # 눕힌 행렬로 다시 부른다
        return newton_schulz(G.mT, steps).mT.contiguous()
    wide = G.to(torch.promote_types(G.dtype, torch.float32))
    scale = max(float(torch.linalg.matrix_norm(wide)), 1e-7)
    return _poly(wide / scale, steps).to(G.dtype)
