"""Drivers of lesson 02: config, seed, schedule, mixed precision, checkpoints and whole training runs.

What they build on:

    _mixed_precision.py         what `amp_step` and `amp_accumulate` share: model, data, the work of their scenarios
    _autocast.py                notes the precision to which autocast is set
    _training_run.py            scenarios that `train` and `train_accelerate` share
    _training_case.py           model, loaders and settings of one whole training run
    _gradient_scaling.py        `GradScaler` on the CPU, and gradients' norms at each update
    _simulated_accelerator.py   Accelerate's `Accelerator` as with several processes
    _checkpoint_file.py         records what a checkpoint holds and how it replaced an earlier one
    _saved_moment.py            tells whether the states in a checkpoint are those of one moment
    _file_replacement.py        observes that replacement
    _full_disk.py               a disk that fills up during a save
"""
