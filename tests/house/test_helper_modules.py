"""The `__init__.py` of a lesson's drivers says what each helper module is for."""

import re
from pathlib import Path

import pytest

from tests.places import ROOT

LESSONS = sorted(path.parent for path in ROOT.glob("grader/exercises/*/__init__.py"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_helper_module_is_listed(lesson: Path) -> None:
    text = (lesson / "__init__.py").read_text()
    pattern = "*.py" if lesson.name == "fixtures" else "_*.py"
    helpers = {path.name for path in lesson.glob(pattern)} - {"__init__.py"}
    missing = sorted(name for name in helpers if not re.search(rf"[ ,]{name}[ ,]", text))
    assert not missing, f"{lesson.name}/__init__.py does not say what they are for: {missing}"
