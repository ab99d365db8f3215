"""Experiments of lesson 01: `data`, runs of `lines`, `training`, `accumulation` and its `cost`, `recipes`, `memory`."""
