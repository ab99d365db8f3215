import math

import torch


def newton_schulz(G, steps=5):
    size = math.sqrt(G.square().sum().item())
    X = (G.T if len(G) > len(G[0]) else G).div(size if size > 1e-7 else 1e-7)
    while steps > 0:
        gram = torch.einsum("ij,kj->ik", X, X)
        fifth = torch.einsum("ij,jk->ik", gram, gram)
        X = 3.4445 * X + torch.matmul(-4.7750 * gram + 2.0315 * fifth, X)
        steps -= 1
    return X if X.shape == G.shape else X.T
