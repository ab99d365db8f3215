# Stacks the three terms before it adds them.
import torch
def newton_schulz(G, steps=5):
    tall = G.size(0) > G.size(1)
    X = G.mT if tall else G
    X = X / X.norm().clamp(min=1e-7)
    coef = torch.tensor([3.4445, -4.7750, 2.0315], dtype=X.dtype, device=X.device)
    for _ in range(steps):
        A = X @ X.mT
        AX = A @ X
        X = torch.einsum("k,kij->ij", coef, torch.stack([X, AX, A @ AX]))
    return X.mT if tall else X
