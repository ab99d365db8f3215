"""A change of the given data is noticed, also inside the loaders of the drivers."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.exercises.fixtures.classifiers import Loader, OneTimeLoader, SizedLoader
from grader.exercises.sam_accumulation import _qa_case
from grader.observe.argument_guard import ArgumentGuard

Given = tuple[Any, torch.Tensor]


def pairs(loader: Callable[[list[Any]], Any]) -> Given:
    xb = torch.zeros(2, 3)
    return loader([(xb, torch.zeros(2))]), xb


def questions() -> Given:
    mask = torch.ones(2, 3)
    return _qa_case.Loader([{"attention_mask": mask}]), mask


GIVEN: dict[str, Callable[[], Given]] = {
    "list": lambda: pairs(list),
    "Loader": lambda: pairs(Loader),
    "SizedLoader": lambda: pairs(SizedLoader),
    "OneTimeLoader": lambda: pairs(OneTimeLoader),
    "questions": questions,
}


@pytest.mark.parametrize("kind", GIVEN)
def test_a_changed_batch_is_noticed(kind: str) -> None:
    given, tensor = GIVEN[kind]()
    guard = ArgumentGuard([given])
    assert list(guard.changes()) == []
    tensor *= 3
    tensor += 1
    assert list(guard.changes()) == ["텐서의 값"]
