"""Searches for small edits that make a learner's own program right: where a tutor would point."""
