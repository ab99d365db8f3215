import torch


class _Laid:
    """세로로 긴 행렬을 눕히고, 끝나면 다시 세운다."""

    def __init__(self, M):
        self.tall = M.shape[0] > M.shape[1]
        self.X = M.T if self.tall else M

    def stand(self):
        return self.X.T if self.tall else self.X


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    coef = (3.4445, -4.7750, 2.0315)
    M = G.to(torch.float64)
    size = torch.einsum("ij,ij->", M, M).sqrt()
    box = _Laid(M / torch.where(size < 1e-7, torch.full_like(size, 1e-7), size))
    for _ in range(steps):
        gram = torch.einsum("ik,jk->ij", box.X, box.X)
        first = torch.einsum("ij,jk->ik", gram, box.X)
        second = torch.einsum("ij,jk->ik", gram, first)
        box.X = sum(w * T for w, T in zip(coef, (box.X, first, second)))
    return box.stand().to(G.dtype)
