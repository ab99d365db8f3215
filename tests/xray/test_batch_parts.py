"""The tensors that are found in what a loader gives."""

from collections import UserDict
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.scripts.batch_parts import binary_targets, first_tensor, is_readable, labels, last_tensor

X, Y = torch.randn(4, 3), torch.tensor([0, 2, 1, 0])
UNREADABLE = {
    "sparse": torch.eye(4).to_sparse(),
    "sparse rows": torch.eye(4).to_sparse_csr(),
    "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "nested, jagged": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    "meta": torch.ones(4, 1, device="meta"),
}


@pytest.mark.parametrize(
    "batch",
    [(X, Y), [X, Y], {"a": X, "b": Y}, UserDict(a=X, b=Y), ("name", [{"a": X}, Y]), (torch.ones(()), X, Y)],
)
def test_parts_are_found_in_any_container(batch: Any) -> None:
    assert first_tensor(batch) is X
    found = labels(batch)
    assert found is not None
    assert found.equal(Y)
    assert last_tensor(batch) is Y


def test_what_is_nested_too_deep_is_not_looked_for() -> None:
    assert first_tensor([[[X]]]) is X
    assert first_tensor([[[[X]]]]) is None


def test_labels_are_a_copy() -> None:
    given = Y.clone()
    found = labels((X, given))
    given += 1
    assert found is not None
    assert found.equal(Y)


@pytest.mark.parametrize("column", [torch.tensor([0.0, 1.0, 1.0]), torch.tensor([[1.0], [0.0]])])
def test_a_column_of_zeros_and_ones_is_binary(column: Tensor) -> None:
    found = binary_targets((X, column))
    assert found is not None
    assert found.equal(column.reshape(-1))


@pytest.mark.parametrize(
    "last",
    [
        torch.tensor([0.0, 0.5]),
        torch.zeros(0),
        torch.zeros(2, 2),
        torch.tensor([0, 1]),
        torch.tensor(1.0),
        "a",
    ],
)
def test_anything_else_is_not(last: Any) -> None:
    assert binary_targets((torch.ones(3), last)) is None


@pytest.mark.parametrize("tensor", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_by_rows_is_left_alone(tensor: Tensor) -> None:
    assert not is_readable(tensor)
    assert labels((X, tensor)) is None
    assert binary_targets((X, tensor)) is None
    assert last_tensor((X, tensor)) is None
