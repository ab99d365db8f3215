"""Values are read as they are, not as a subclass of Tensor says they are."""

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from grader.observe.parameters import flattened
from grader.observe.program import load_program
from grader.observe.recorder import Recorder
from grader.observe.values import as_number, to_array


class Liar(Tensor):
    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return torch.zeros_like(function(*args, **(kwargs or {})))


def lying(values: list[float]) -> Tensor:
    return torch.tensor(values).as_subclass(Liar)


def test_a_liar_lies_elsewhere() -> None:
    assert (lying([1.0, 2.0]) + 1).as_subclass(Tensor).tolist() == [0, 0]


def test_parameters_arrays_and_numbers_are_read_as_they_are() -> None:
    assert flattened([lying([1.0, 2.0])]).tolist() == [1, 2]
    assert to_array(lying([1.0, 2.0])).tolist() == [1, 2]
    assert as_number(lying([1.0, 2.0])) == 1.5


def test_gradients_that_deny_themselves_are_left_all_the_same() -> None:
    model = nn.Linear(1, 1)
    recorder = Recorder(load_program("x = 1", name="empty"))
    recorder.watch(model)
    assert not recorder.gradients_left()
    model.weight.grad = torch.ones(1, 1).as_subclass(Liar)
    assert recorder.gradients_left()


def test_a_parameter_that_became_part_of_a_graph_is_read_without_a_warning() -> None:
    """A program that moves frozen weights with gradients enabled made torch warn on the instructor's screen."""
    model = nn.Linear(1, 1).requires_grad_(False)
    recorder = Recorder(load_program("x = 1", name="empty"))
    recorder.watch(model)
    model.weight.mul_(torch.ones(1, requires_grad=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not recorder.gradients_left()
