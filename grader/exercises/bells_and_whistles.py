"""Drivers of lesson 03: steps, learning rates, clipping, a small GPT's training, batches of unequal token counts."""

from grader.exercises import (
    _bells_and_whistles_gpt,
    _bells_and_whistles_schedule,
    _bells_and_whistles_tokens,
)

EXERCISES = {
    driver.name: driver
    for part in (_bells_and_whistles_schedule, _bells_and_whistles_gpt, _bells_and_whistles_tokens)
    for driver in part.DRIVERS
}
