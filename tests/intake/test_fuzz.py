"""A fixed slice of `python -m tests.fuzz`: random classes and tables end in results or in a sentence."""

import os

import pytest

from tests.fuzz.__main__ import fuzzed

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of processes")


@pytest.mark.parametrize("part", range(4))
def test_random_classes_end_nothing(part: int) -> None:
    for number in range(10 * part, 10 * part + 10):
        fuzzed(29, number)
