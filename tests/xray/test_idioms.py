"""Short scripts in many ways of writing, in one file: each with a bug and its mended twin.

In `idioms.txt` a section `=== name` is one script without its imports. A line that ends in `#-` stands in the wrong
script only, one in `#+` in the mended one only, one in `#*` in both; the words after `#-` and `#*` are the ids of the
bugs of that line. Where several lines bear one id, a finding at any of them will do.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.xray.running import watched

HEAD = """import copy, math, os, random, tempfile
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split
torch.manual_seed(0)
np.random.seed(0)
random.seed(0)
"""
_MARK = re.compile(r"\s*#([-+*])\s*([\w, -]*)$")
_NEAR = 2
_EVERY = 12
"""The full run looks at every twelfth script, `pytest -m by_command` at the others."""


class Pair(NamedTuple):
    """A wrong script with the lines of each bug, and its mended twin."""

    name: str
    wrong: str
    right: str
    bugs: dict[str, list[int]]


def _pair(name: str, text: str) -> Pair:
    wrong: list[str] = []
    right: list[str] = []
    bugs: dict[str, list[int]] = {}
    for line in (HEAD + text).splitlines():
        mark = _MARK.search(line)
        kind, ids = mark.groups() if mark else ("*", "")
        code = line[: mark.start()] if mark else line
        wrong += [code] if kind in "-*" else []
        right += [code] if kind in "+*" else []
        for one in filter(None, map(str.strip, ids.split(","))):
            bugs.setdefault(one, []).append(len(wrong))
    return Pair(name, "\n".join(wrong) + "\n", "\n".join(right) + "\n", bugs)


def _pairs() -> Iterator[Pair]:
    text = Path(__file__).with_name("idioms.txt").read_text(encoding="utf-8")
    for section in text.split("=== ")[1:]:
        name, _, body = section.partition("\n")
        yield _pair(name, body)


def _some() -> Iterator[object]:
    for number, pair in enumerate(_pairs()):
        marks = [pytest.mark.full, *([pytest.mark.by_command] if number % _EVERY else [])]
        yield pytest.param(pair, marks=marks, id=pair.name)


@pytest.mark.parametrize("pair", list(_some()))
def test_the_bug_is_found_and_its_mended_twin_is_not_called_wrong(tmp_path: Path, pair: Pair) -> None:
    script = tmp_path / "train.py"
    script.write_text(pair.wrong, encoding="utf-8")
    found = watched(script).ids
    for bug, lines in pair.bugs.items():
        assert any(abs(at - line) <= _NEAR for _, at in found for line in lines), (bug, lines, found)
    script.write_text(pair.right, encoding="utf-8")
    twin = watched(script)
    assert twin.status == 0, twin.found or twin.error
