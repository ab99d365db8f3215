"""The error that ends a search for a repair early.

It is not in `attempts`, which cannot be imported on Windows, because the search must know it everywhere.
"""


class AttemptsSpent(Exception):
    """No more attempts are played: what they may take together is spent."""
