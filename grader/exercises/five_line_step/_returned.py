"""Record a returned sequence of numbers: `fit` returns losses, `evaluate` a loss and an accuracy."""

from typing import Any

import torch

from grader.observe.values import as_number, items_of, type_name


def record_sequence(recorder: Any, values: Any) -> None:
    """Record a returned list or tuple: the numbers as an array, their types as a fact."""
    items = items_of(values)
    recorder.fact("반환 타입", [type_name(values), *(type_name(item) for item in items)])
    recorder.array("returned", torch.tensor([as_number(item) for item in items], dtype=torch.float64))
