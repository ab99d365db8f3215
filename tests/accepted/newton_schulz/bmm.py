import torch


def newton_schulz(G, steps=5):
    """With a batch of one, as for stacked parameters."""
    X = G.unsqueeze(0)
    tall = X.shape[-2] > X.shape[-1]
    if tall:
        X = X.mT
    norm = X.pow(2).sum().sqrt()
    X = X / torch.maximum(norm, torch.full_like(norm, 1e-7))
    for step in range(steps):
        A = torch.bmm(X, X.mT)
        B = torch.baddbmm(A, A, A, beta=-4.7750, alpha=2.0315)
        X = torch.baddbmm(X, B, X, beta=3.4445)
    return (X.mT if tall else X).squeeze(0)
