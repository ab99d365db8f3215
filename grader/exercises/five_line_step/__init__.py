"""Drivers of lesson 01: `train_step`, the functions built on it up to `fit` and `evaluate`, and its parts by hand."""
