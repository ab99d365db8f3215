"""What the type of a returned value is called."""

import collections

import numpy as np
import pytest
import torch

from grader.observe.values import type_name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.float64(1.0), "float"),
        (np.bool_(True), "bool"),
        (torch.nn.Parameter(torch.ones(1)), "Tensor"),
        (collections.defaultdict(list), "dict"),
        ([], "list"),
        (type("float", (), {"__float__": lambda self: 1.0})(), "class float"),
    ],
)
def test_a_class_counts_as_what_it_is_and_not_as_what_it_is_called(value: object, name: str) -> None:
    assert type_name(value) == name
