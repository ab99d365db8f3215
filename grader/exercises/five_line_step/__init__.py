"""Drivers of lesson 01: `train_step`, what grows from it up to `fit` and `evaluate`, and its parts written by hand."""
