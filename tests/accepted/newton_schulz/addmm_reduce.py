from functools import reduce

import torch


def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315

    def once(X, _):
        A = torch.mm(X, X.t())
        B = torch.addmm(A, A, A, beta=b, alpha=c)
        return torch.addmm(X, B, X, beta=a, alpha=1.0)

    lie, stand = (lambda t: t.t(), lambda t: t.t()) if G.size(0) > G.size(1) else (lambda t: t, lambda t: t)
    work = G.double() if G.dtype != torch.float64 else G
    start = lie(work / torch.linalg.vector_norm(work).clamp_min(1e-7))
    return stand(reduce(once, range(steps), start)).to(G.dtype)
