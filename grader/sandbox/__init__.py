"""Runs submissions isolated and brings back what was observed."""
