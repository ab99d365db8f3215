"""Drivers of lesson 01: `train_step`, its parts written by hand, and what is built on it up to `fit` and `evaluate`.

What they build on:

    _step_case.py       model, batches, loss and optimizer for `mend_step`, `train_step` and `train_step_extras`
    _diamond_graph.py   a stand-in autograd graph with very many paths, for `autograd_nodes`
"""
