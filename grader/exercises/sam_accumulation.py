"""Drivers of lesson 04: SAM, its step, its accumulation, sharpness, and a reader trained with it."""

from grader.exercises import (
    _sam_accumulation_optimizer,
    _sam_accumulation_qa,
    _sam_accumulation_steps,
)

__all__ = ["EXERCISES"]

_ALL = {
    driver.name: driver
    for part in (_sam_accumulation_optimizer, _sam_accumulation_steps, _sam_accumulation_qa)
    for driver in part.DRIVERS
}

EXERCISES = {name: _ALL[name] for name in ("SAM", "sam_step", "sam_accumulate", "sharpness", "train_qa")}
