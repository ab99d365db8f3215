"""Drivers of lesson 03: steps, learning rates, clipping, a small GPT's training, batches of unequal token counts."""
