"""Drivers of lesson 03: step counts, learning rates, clipping, decay groups, a small GPT's training, token means.

What they build on:

    _tiny_rates.py         asks `lr_at` and `wsd_at` for tiny learning rates
    _gpt_case.py           model, data and limits for clipping for `train_gpt`
    _lr_at_stand_in.py     replaces the learner's `lr_at` while `train_gpt` is played
"""
