"""Tolerances that several exercises of the lesson need, each with its reason."""

CLIP_ATOL = 1e-5
"""torch divides by norm + 1e-6; a clip written by hand without it is right too."""

FLOAT32_ATOL = 1e-6
"""A loss may pass through float32 on its way out."""

SINGLE_ATOL = 1e-5
"""A few updates in float32: sums in one order or another."""
