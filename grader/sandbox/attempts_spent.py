"""Define the exception that ends a search for a repair early.

It has a module of its own because the search imports it on every system, and `attempts` cannot be imported on Windows.
"""


class AttemptsSpent(Exception):
    """No more attempts can be played: a limit of the attempts or the search's budget of plays is used up."""
