"""What a program raised is told apart: running out of memory is a status of its own."""

import mmap
from collections.abc import Callable

import numpy as np
import pytest
import torch

from grader.observe.program import Program, describe_failure, without_addresses
from grader.observe.trace import Failure

MORE_THAN_THERE_IS = 2**55
"""Bytes; no processor addresses as many."""


def raised(action: Callable[[], object]) -> Failure:
    try:
        action()
    except Exception as error:
        return describe_failure(error, Program({}, "<asks>"))
    raise AssertionError("there was enough memory")


@pytest.mark.parametrize(
    "action",
    [
        lambda: torch.empty(MORE_THAN_THERE_IS, dtype=torch.uint8),
        lambda: np.empty(MORE_THAN_THERE_IS, dtype=np.uint8),
        lambda: mmap.mmap(-1, MORE_THAN_THERE_IS),
        lambda: bytearray(MORE_THAN_THERE_IS),
    ],
    ids=["torch", "numpy", "mmap", "Python"],
)
def test_asking_for_too_much_memory_is_known_as_that(action: Callable[[], object]) -> None:
    """Each says it with another type and in other words."""
    assert raised(action).out_of_memory


@pytest.mark.parametrize(
    ("bases", "message", "starved"),
    [
        # Where these are raised, the tests are not: a GPU, and torch on Windows.
        (("OutOfMemoryError", "RuntimeError"), "CUDA out of memory. Tried to allocate 2.00 GiB.", True),
        (("RuntimeError",), "[enforce fail] DefaultCPUAllocator: not enough memory: you tried to", True),
        # What only sounds like it.
        (("ValueError",), "out of memory", False),
        (("RuntimeError",), "Storage size calculation overflowed with sizes=[4611686018427387904]", False),
        (("FileNotFoundError", "OSError"), "[Errno 2] No such file or directory: 'memory.pt'", False),
    ],
)
def test_type_and_message_together_say_it(bases: tuple[str, ...], message: str, starved: bool) -> None:
    assert Failure(bases[0], (*bases, "Exception", "BaseException"), message).out_of_memory is starved


def test_the_folder_of_a_checkpoint_is_not_shown() -> None:
    """Learners are given its path, but never chose it, and look for no such folder of theirs."""
    raised = "[Errno 17] File exists: '/dev/shm/hanstep-ab12cd3_/run/best.pt'"
    assert without_addresses(raised) == "[Errno 17] File exists: 'best.pt'"
    assert without_addresses("'/tmp/hanstep-ab12cd3_/tmpab12cd3_'") == "'tmp…'"
    assert without_addresses("'/tmp/tmpab12cd3_/best.pt'") == "'/tmp/tmp…/best.pt'"
