"""Drivers of lesson 02: config, seed, schedule, mixed precision, checkpoints and whole training runs."""

from grader.exercises import (
    _loop_anatomy_amp,
    _loop_anatomy_checkpoint,
    _loop_anatomy_config,
    _loop_anatomy_resume,
    _loop_anatomy_train,
)

EXERCISES = {
    driver.name: driver
    for part in (
        _loop_anatomy_config,
        _loop_anatomy_amp,
        _loop_anatomy_checkpoint,
        _loop_anatomy_resume,
        _loop_anatomy_train,
    )
    for driver in part.DRIVERS
}
