"""A driver's docstring tells which scenarios check which promise of its exercise: all of them, by their names."""

import importlib
import re

import pytest

from grader.exercises import driver_modules, load_driver
from tests.places import ROOT

LESSONS = sorted(
    file.parent.name for file in ROOT.glob("grader/exercises/*/__init__.py") if file.parent.name != "fixtures"
)
MODULES = [module for lesson in LESSONS for module in driver_modules(lesson).values()]


@pytest.mark.parametrize("module", MODULES)
def test_every_scenario_is_named_beside_a_promise(module: str) -> None:
    _, promises = (importlib.import_module(module).__doc__ or "").split("Promises of the exercise")
    quoted = set(re.findall(r"`([^`]+)`", promises))
    assert not {scenario.name for scenario in load_driver(module).scenarios} - quoted
