"""What the notebooks of lesson 05 import: real processes, their data and the runs that are compared."""
