"""Tests of one exercise run in one process, where its traces are kept: that saves a fifth of the quick run."""

import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest

@pytest.mark.parametrize("seed", [1, 0])
@pytest.mark.parametrize("exercise", ["fit", "SAM", "train"])
def test_of_an_exercise(exercise, seed): ...
"""


def test_one_process_takes_all_tests_of_an_exercise(checkout: Path, tmp_path: Path) -> None:
    """It did not under pytest 9.2, whose ids pytest-xdist 3.8 cannot mark; no other test would fail for that."""
    (tmp_path / "test_two.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        (checkout / "tests" / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder",
         "-p", "no:cacheprovider", "test_two.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(checkout)}, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    ran = re.findall(r"\[(gw\d)\].*PASSED.*\[(\w+)-(\d)\]", said)
    assert len(ran) == 6, said
    for exercise in ("fit", "SAM", "train"):
        assert len({worker for worker, name, _ in ran if name == exercise}) == 1, said
        assert [seed for _, name, seed in ran if name == exercise] == ["0", "1"], said
