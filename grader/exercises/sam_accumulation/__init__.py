"""Drivers of lesson 04: SAM, its step, its accumulation, sharpness, and a reader trained with it."""
