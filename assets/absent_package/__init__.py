"""Lies in the place of every installed package that submissions may not import, so that they are told it is not there.

An empty folder could be imported, and its first use would fail with words that lead nowhere.
"""

raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)
