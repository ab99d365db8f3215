def newton_schulz(G, steps=5):
    """Leaves a tall matrix as it is, and multiplies it from the right instead."""
    X = G / max(float(G.norm()), 1e-7)
    for _ in range(steps):
        if X.shape[0] <= X.shape[1]:
            A = X @ X.T
            X = 3.4445 * X - 4.7750 * (A @ X) + 2.0315 * (A @ (A @ X))
        else:
            A = X.T @ X
            X = 3.4445 * X - 4.7750 * (X @ A) + 2.0315 * ((X @ A) @ A)
    return X
