"""Record returned losses, for `sam_step`, `sam_accumulate` and `sharpness`. Types are judged in another scenario."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from grader.observe.recorder import Recorder
from grader.observe.values import as_number, type_name


def record_numbers(recorder: Recorder, values: Sequence[Any]) -> None:
    """Record returned values as numbers.

    A tensor is as good as a float here; for anything else, its type is recorded too.
    """
    if not all(isinstance(value, int | float | Tensor) for value in values):
        recorder.fact("반환 타입", [type_name(value) for value in values])
    recorder.array("returned", [as_number(value) for value in values])
