"""The table of what drivers can use, in solutions/README.md, has every method of the recorder that drivers call."""

import re

from grader.observe.recorder import Recorder
from tests.places import ROOT


def test_every_method_that_drivers_call_is_in_the_table() -> None:
    drivers = "\n".join(path.read_text("utf-8") for path in (ROOT / "grader" / "exercises").rglob("*.py"))
    called = set(re.findall(r"\brecorder\.(\w+)\(", drivers)) & set(vars(Recorder))
    table = (ROOT / "solutions" / "README.md").read_text("utf-8")
    assert "modes" in called
    assert called == set(re.findall(r"^\| `recorder\.(\w+)\(", table, re.MULTILINE))
