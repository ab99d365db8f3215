"""Tools for authors: make the learner's notebook and the executed solution from a lesson's source."""
