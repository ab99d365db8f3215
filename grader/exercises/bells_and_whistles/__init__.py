"""Drivers of lesson 03: step counts, learning rates, clipping, decay groups, a small GPT's training, token means."""
