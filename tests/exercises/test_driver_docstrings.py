"""A driver's docstring tells which scenarios check which promise of its exercise: all of them, by their names."""

import importlib
import re

import pytest

from grader.exercises import driver_modules, load_driver

MODULES = [
    module for lesson in ("five_line_step", "loop_anatomy") for module in driver_modules(lesson).values()
]


@pytest.mark.parametrize("module", MODULES)
def test_every_scenario_is_named_beside_a_promise(module: str) -> None:
    _, promises = (importlib.import_module(module).__doc__ or "").split("Promises of the exercise")
    quoted = set(re.findall(r"`([^`]+)`", promises.split("\n\n", maxsplit=1)[0]))
    assert not {scenario.name for scenario in load_driver(module).scenarios} - quoted
