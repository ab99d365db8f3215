"""Outputs are cut out of a notebook where it has them, and nowhere else."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.base.decoding import ReadError
from grader.submission import notebook_json
from grader.submission.conflicts import sides
from grader.submission.notebook_json import is_notebook, without_outputs
from tests.submission.samples import STEP, code, notebook, read

KEYS = st.sampled_from(
    ["cells", "worksheets", "commands", "outputs", "results", "metadata", "source", 'a"b', "\\"]
)
VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(['"', "\\", '"outputs": [', "{", "]", '\\"cells": ', ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def _cut(value: Any, *way: str) -> Any:
    """What is left of parsed JSON, by its structure."""
    if isinstance(value, list):
        return [_cut(one, *way) for one in value]
    if not isinstance(value, dict):
        return value
    skipped = {
        ("cells",): "outputs",
        ("worksheets", "cells"): "outputs",
        ("commands",): "results",
        (): "metadata",
    }.get(way)
    return {
        key: [] if key == skipped and isinstance(inner, (list, dict)) else _cut(inner, *way, key)
        for key, inner in value.items()
    }


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from([None, 1]))
@settings(deadline=None)
def test_only_outputs_are_cut(document: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(document, indent=indent)
    before, notebook_json._MAX_UNCUT_CHARS = notebook_json._MAX_UNCUT_CHARS, 0
    try:
        left = json.loads(without_outputs(text))
    finally:
        notebook_json._MAX_UNCUT_CHARS = before
    expected = _cut(document)
    # Empty lists and objects need not be cut.
    assert _without_empty(left) == _without_empty(expected)


def _without_empty(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    if isinstance(value, dict):
        return {key: _without_empty(inner) for key, inner in value.items()} or []
    return value


def test_code_in_an_output_is_not_graded(tmp_path) -> None:
    """What Jupyter shows as an output is none of the learner's code, however large it is."""
    hidden = code("X = 1") | {"outputs": [{"cells": [code(STEP)], "text": "x" * 2_000_000}]}
    assert "train_step" not in read(tmp_path / "hw.ipynb", notebook(hidden)).defines


def test_too_many_brackets_in_outputs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook_json, "_MAX_CUT_BRACKETS", 1_000)
    text = notebook(code("X = 1") | {"outputs": [[[1]] * 300_000]})
    with pytest.raises(ReadError, match="출력을 모두 지우고"):
        without_outputs(text)


def test_a_break_is_told_at_its_line_in_the_file(refused) -> None:
    """Outputs that were cut before it are counted, too."""
    text = _with_long_output()
    broken = text.replace('"Y = 1"', '"Y = 1')
    line = broken[: broken.index('"Y = 1')].count("\n") + 1
    assert line > 50_000
    assert f"{line + 1}번째 줄" in refused("hw.ipynb", broken)  # the next line's first quote ends the string


def test_a_break_inside_a_json_string_is_told_without_a_line(refused) -> None:
    """Its lines are none of the file's."""
    assert "번째 줄" not in refused("hw.ipynb", json.dumps('{"cells": [\n\n{"cell'))


def _with_long_output() -> str:
    lines = {"outputs": [{"text": [f"{number} {'x' * 20}\n" for number in range(60_000)]}]}
    return json.dumps(json.loads(notebook(code("X = 1") | lines, code("Y = 1"))), indent=1)


def test_a_notebook_in_a_json_string_may_have_large_outputs(tmp_path) -> None:
    text = notebook(code("X = 1") | {"outputs": [{"data": [[1, {}]] * 300_000}]})
    assert "X = 1" in read(tmp_path / "hw.ipynb", json.dumps(text)).text


def test_a_notebook_in_a_json_string_keeps_the_limits(refused) -> None:
    text = '{"cells": [' + "[]," * 6_000_000 + "0]}"
    assert "출력을 모두 지우고" in refused("hw.ipynb", json.dumps(text))


def test_an_archive_of_databricks_may_have_large_results(tmp_path) -> None:
    results = {"type": "table", "data": [[1, [2]]] * 600_000}
    archive = {"version": "NotebookV1", "commands": [{"position": 1, "command": "X = 1", "results": results}]}
    assert "X = 1" in read(tmp_path / "hw.ipynb", json.dumps(archive)).text


@pytest.mark.parametrize("before", ["\n", "\r\n\t "])
def test_a_json_string_may_begin_with_a_line_break(before: str) -> None:
    assert is_notebook(json.dumps(before + notebook(code("X = 1"))))


def test_a_notebook_that_mentions_a_mark_of_git_has_no_conflict(refused) -> None:
    message = refused("hw.ipynb", notebook(code("# <<<<<<< HEAD")).replace("}]}", "}]"))
    assert "1번째 줄에서 깨져" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n<<<<<<< x\nb\n=======\nc\n>>>>>>> y\nd", ("a\nb\nd", "a\nc\nd")),
        ("<<<<<<< x\nb\n||||||| o\no\n=======\n>>>>>>> y", ("b\n", "")),
        ("title\n=======\n", None),
        ("<<<<<<< x\nb\n=======\nc\n", None),
        ("<<<<<<< x\nb\n>>>>>>> y\n", None),
        (">>>>>>> y\n<<<<<<< x\n", None),
    ],
)
def test_the_sides_of_a_merge(text: str, expected: tuple[str, str] | None) -> None:
    assert sides(text) == expected


def test_a_merge_whose_sides_differ_is_not_guessed(refused) -> None:
    text = notebook(code("X = 1")).replace('"X = 1"', '\n<<<<<<< a\n"X = 1"\n=======\n"X = 2"\n>>>>>>> b\n')
    assert "양쪽의 코드가 달라요" in refused("hw.ipynb", text)
