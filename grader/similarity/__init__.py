"""Pairs of submissions that are more alike than chance and the course explain: places to look at, no verdict."""
