"""Drivers of lesson 06: instruments that show why a model does not learn, and optimizers written by hand."""
