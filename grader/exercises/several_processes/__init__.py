"""Drivers of lesson 05: one step in several processes."""
