"""Drivers of lesson 02: config, seed, schedule, mixed precision, checkpoints and whole training runs.

What they build on:

    _mixed_precision.py         model, data and bodies of scenarios of `amp_step` and `amp_accumulate`
    _autocast.py                notes the precision to which autocast is set
    _checkpoint_file.py         records what a checkpoint holds and how it replaces an earlier one
    _file_replacement.py        observes that replacement
    _full_disk.py               a disk that fills up during a save
    _training_run.py            scenarios of `train` and `train_accelerate`
    _training_case.py           what a whole training run is given
    _gradient_scaling.py        `GradScaler` on the CPU, and gradients' norms
    _simulated_accelerator.py   Accelerate's `Accelerator` of several processes
"""
