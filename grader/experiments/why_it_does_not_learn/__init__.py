"""What the notebooks of lesson 06 import: models, data and the runs that are compared."""
