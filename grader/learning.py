"""Kept for notebooks that were handed out: their first cell imports this module to see that the package is ours."""
