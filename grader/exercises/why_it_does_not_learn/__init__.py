"""Drivers of lesson 06: instruments that show why a model does not learn, and optimizers written by hand.

What they build on:

    _layered_net.py      a model with every kind of layer, for `Dashboard`
    _leftovers.py        finds what instruments leave behind, for `Dashboard`
    _special_layers.py   layers and blocks that do one odd thing each, for `first_bad_layer`
    _trainings.py        what `Trainer` trains
"""
