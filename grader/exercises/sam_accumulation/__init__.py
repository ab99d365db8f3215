"""Drivers of lesson 04: SAM (sharpness-aware minimization), steps and trainings with it, and measures of sharpness."""
