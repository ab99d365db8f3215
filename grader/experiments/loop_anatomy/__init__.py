"""Data, models and training runs of lesson 02's experiments; a module for each topic, imported by its notebooks."""
