"""Drivers of lesson 04: SAM (sharpness-aware minimization), steps and trainings with it, and measures of sharpness.

What a SAM does, and the words *climb* and *base optimizer*, are in `fixtures/sam.py`. What the drivers build on:

    _mode_scenarios.py          scenarios on the modes that a function uses and leaves, for all but `SAM` and `train_qa`
    _side_effect_scenarios.py   scenarios on what `sharpness` and `lambda_max` must leave as it was
    _watched_sam.py             the learner's SAM over a watched model, for `SAM`
    _climbing.py                records where `first_step` climbs, for `SAM`
    _missing_gradients.py       scenarios of `SAM` in which gradients are None or zero
    _resuming.py                makes a SAM with a state, and another one that loads it, for `SAM`
    _qa_case.py                 model and data for `train_qa`
"""
