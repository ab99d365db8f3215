"""Absolute tolerances that several exercises of this lesson need, with their reasons."""

CLIP_ATOL = 1e-5
"""For clipping: torch divides by norm + 1e-6; one written by hand without it is right too (measured: 1.4e-7 apart)."""

FLOAT32_ATOL = 1e-6
"""Losses and accuracies may pass through float32 on their way out: `(pred == yb).float().mean()`, or a running
sum that starts as `torch.tensor(0.0)`. Such a function is right too, and rounds by about 1e-7."""
