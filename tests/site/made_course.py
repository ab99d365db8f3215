"""A small course of two lessons, the first in two parts, whose notebooks are written for a test."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader import paths
from grader.course.course import Course, Lesson, Part, Prediction
from grader.site.landing import Landing

ASKED = Prediction("01-1", "b", "`step()`이 옮깁니다.", {"a": "아직입니다.", "c": "지웁니다."})
LANDING = Landing("다섯 줄입니다.", "loss.backward()\nopt.step()", "opt.step()", "01-1", "", "", "")
DRAWING = base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg"></svg>').decode()


def text(source: str) -> Any:
    return nbformat.v4.new_markdown_cell(source)


def code(source: str, *tags: str, drawn: str = "") -> Any:
    outputs = [nbformat.v4.new_output("display_data", {"text/html": drawn})] if drawn else []
    return nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)}, outputs=outputs)


CELLS: dict[tuple[str, str], Sequence[Any]] = {
    ("01_first", "1_begin"): (
        text("# 시작하기\n\n약 20분 · ★☆☆\n\n그레이디언트를 더합니다. [이어서](2_go_on.ipynb)"),
        text(
            "1. 셀을 누르고 Shift+Enter를 칩니다.\n2. 먼저 예측합니다.\n\n한 줄을 더합니다. Shift+Enter를 누릅니다."
        ),
        text("앞의 이야기입니다.\n\n**예측 1.** 무엇이 옮길까요?\n\n- a: 아직\n- b: `step()`\n- c: 지우기"),
        code('predict("01-1")', "predict"),
        code("draw()", drawn=f'<img src="data:image/svg+xml;base64,{DRAWING}">'),
        text("셋째 줄이 옮겼습니다."),
        code("from grader import check\ncheck(train_step)", "check"),
        text("## 설명\n\n[빈칸](template.py)을 채웁니다.\n\n```python\nmodel = …\n```"),
    ),
    ("01_first", "2_go_on"): (
        text("# `step()`으로 이어서\n\n약 70분 · ★★☆\n\n[다음](../02_second/1_other.ipynb)"),
    ),
    ("02_second", "1_other"): (text("# 다른 이야기\n\n[처음](../01_first/1_begin.ipynb)"),),
}


def made_course(folder: Path, patch: pytest.MonkeyPatch) -> Course:
    """Write the notebooks below the folder, which the grader then takes for its checkout, and return the course."""
    (folder / "assets").symlink_to(paths.asset_path())
    for (lesson, part), cells in CELLS.items():
        for room in ("lessons", "solutions"):
            path = folder / room / lesson / f"{part}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            language = {"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
            notebook = nbformat.v4.new_notebook(cells=list(cells), metadata=language)
            path.write_text(nbformat.writes(notebook), encoding="utf-8")
    (folder / "lessons" / "01_first" / "template.py").write_text("# 1.\n", encoding="utf-8")
    (folder / "lessons" / "course.toml").write_text("", encoding="utf-8")
    patch.setattr(paths, "_CHECKOUT", folder)
    parts = (
        Part("01_first", "1_begin", "시작하기", 20),
        Part("01_first", "2_go_on", "`step()`으로 이어서", 70),
        Part("02_second", "1_other", "다른 이야기", 0),
    )
    first = Lesson("01", "01_first", "first", "첫 레슨", 90, (), (ASKED,), parts=parts[:2])
    second = Lesson("02", "02_second", "second", "둘째 레슨", 0, (), needs=("01",), parts=parts[2:])
    return Course("작은 강의", "두 레슨입니다", (first, second))
