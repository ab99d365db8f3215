"""Grades a whole class: the runs side by side, on this machine or a cluster, kept as they come."""
