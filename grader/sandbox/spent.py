"""The error that ends a search for a repair early.

The search imports this error on every system, so it does not stand in `attempts`, which cannot be imported on Windows.
"""


class AttemptsSpent(Exception):
    """No more attempts are played: a limit of all plays together (time, or the search's budget) is used up."""
