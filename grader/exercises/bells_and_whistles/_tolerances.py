"""Absolute tolerances that several exercises of the lesson share."""

FLOAT32_ATOL = 1e-6
"""A learning rate or mean loss may have passed through float32 (`torch.cos`): right too, and rounded to about 1e-7."""

CLIP_ATOL = 1e-5
"""For clipping: torch divides by norm + 1e-6; a hand-written clip without the
1e-6 is right too, and so is a norm summed in float32.
"""
