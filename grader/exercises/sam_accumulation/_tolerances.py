"""Absolute tolerances that several exercises of the lesson need, each with its reason."""

CLIP_ATOL = 1e-5
"""For clipping: torch divides by norm + 1e-6; a hand-written clip without the 1e-6 is right too."""

FLOAT32_ATOL = 1e-6
"""A loss may pass through float32 on its way out."""

SINGLE_ATOL = 1e-5
"""For a few updates in float32, where sums may be taken in any order."""
