"""Code is read in whatever form it comes in, where a `def` can be found; what was left out is told."""

import random
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.submission import recovery
from grader.submission.cells import MAX_CODE_CHARS
from grader.submission.recovery import recover
from grader.submission.source_file import Place
from grader.submission.submission import read_submission
from grader.submission.syntax import ParseError, parse
from tests.submission.samples import EXERCISES, STEP, code, kept
from tests.submission.sources import FRAGMENTS
from tests.work import calls_of

PROSE = "물론입니다! PyTorch로 한 스텝을 학습하는 함수는 (아래처럼) 씁니다.\n"
MORE = "1. **초기화** `accumulate(model)`\n\n를 차례로 합니다. It's done. 도움이 되셨길 바랍니다!\n"
STEP_LINES = STEP.splitlines()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{PROSE}\n```python\n{STEP}```\n{MORE}", 4),
        (f"{PROSE}\n```\n{STEP}```\n{MORE}", 4),
        (f"{PROSE}~~~ Python\n{STEP}~~~\n", 3),
        (f"```python\n{STEP}", 2),
        (f"{STEP}```\n{MORE}", 1),
        (f"{PROSE}{STEP}", 2),
        (f"{PROSE}{STEP}\n{MORE}", 2),
        (f"Sure! Here's the function (it's short:\n\n{STEP}", 3),
        (PROSE + "\n" + "".join(f"    {line}\n" for line in STEP_LINES), 3),
        ("1. 먼저:\n   ```python\n" + "".join(f"   {line}\n" for line in STEP_LINES) + "   ```\n", 3),
        (f"```bash\npip install torch\n```\n{PROSE}```python\n{STEP}```", 6),
        (f"%%writefile train.py\n{PROSE}```python\n%matplotlib inline\n{STEP}```", 5),
    ],
    ids=[
        "fence",
        "plain fence",
        "tildes",
        "never closed",
        "closing only",
        "prose before",
        "prose around",
        "open bracket",
        "indented",
        "in a list",
        "another language",
        "writefile",
    ],
)
@pytest.mark.parametrize("suffix", ["py", "ipynb"])
def test_the_code_in_a_chat_answer_is_read(request, suffix, text, line):
    """The lines keep the numbers of the real file, and a note says that something was left out."""
    read = request.getfixturevalue(suffix)
    file = read(text) if suffix == "py" else read(code(text))
    assert [one for one in kept(file) if one != "0"] == STEP_LINES
    assert file.defines == {"train_step": line}
    assert file.nearest_place(line) == Place(None if suffix == "py" else 1, line)
    assert file.problems == ()
    assert any("뺐어요" in note or "빼고" in note for note in file.notes), file.notes


def test_all_fences_are_read_in_order(py):
    file = py(
        f"{PROSE}```python\nimport os\n{STEP}```\n{PROSE}```py\ndef train_step(model):\n    return 2\n```\n"
    )
    assert file.defines == {"train_step": 9}
    assert "1~2, 6~8, 11번째 줄" in file.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        STEP,
        f'"""{PROSE}\n```python\ndef accumulate(): ...\n```\n"""\n{STEP}',
        f"# {PROSE}{STEP}",
    ],
)
def test_what_parses_is_read_as_it_stands(py, text):
    """A Markdown block in a docstring is no answer, and nothing is said of it."""
    file = py(text)
    assert "accumulate" not in file.defines
    assert file.notes == ()


def test_a_fence_in_a_docstring_is_no_fence(py):
    """Where another function is broken."""
    file = py(
        'def f(:\n\ndef train_step(m):\n    """Say.\n\n```python\ndef accumulate(): ...\n```\n"""\n    return 1\n'
    )
    assert set(file.defines) == {"train_step"}


@pytest.mark.parametrize("indent", ["    ", ""])
def test_a_fence_in_a_docstring_within_a_fence_is_no_fence(py, indent):
    example = "".join(f"{indent}{line}\n" for line in ("```python", "f(1)", "```", '"""'))
    step = f'def train_step(model):\n    """Say.\n\n{example}    return 1\n'
    file = py(f"{PROSE}```python\n{step}```\n{MORE}")
    assert file.defines == {"train_step": 3}
    assert file.problems == ()


def test_a_string_that_never_ends_does_not_hide_the_next_fence(py):
    broken = '```python\ndef accumulate():\n    """Say.\n    return 1\n```\n'
    file = py(f"{broken}{PROSE}```python\n{STEP}```\n")
    assert set(file.defines) == {"train_step"}
    assert file.problem_for("accumulate") is not None


@pytest.mark.parametrize(
    "line", ["(a, b) = 1, 2", "[a, b] = 1, 2", "*a, b = 1, 2", "match 1:\n    case _:\n        a = b = 1"]
)
def test_a_statement_after_prose_is_read(line):
    assert recover(f"{PROSE}{line}\n").text == f"\n{line}\n"


@pytest.mark.parametrize("prose", ["class is a thing", "class methods, too, are (mostly) functions."])
def test_prose_about_a_class_is_no_broken_class(prose):
    found = recover(f"{prose}\n\n{STEP}")
    assert found.broken == ()
    assert found.left_out == (1,)


@pytest.mark.parametrize("head", ["class Net(nn.Module)", "class Net", "class Net(:", "class Net  # mine"])
def test_a_class_whose_first_line_is_broken_is_told(head):
    (broken,) = recover(f"{head}\n    x = 1\n\n{STEP}").broken
    assert broken.name == "Net"


def test_equally_deep_definitions_are_read_the_same_way_each_time():
    """A set of strings has another order in each process."""
    for depth in (2, 3, 4):
        indents = ["".join(drawn) for drawn in product(" \t", repeat=depth)]
        text = "물론\n" + "".join(f"{indent}def f{n}(): 0\n" for n, indent in enumerate(indents))
        read = [line for line in recover(text).text.split("\n") if line.startswith("def")]
        assert read == [f"def f{indents.index(chr(9) * depth)}(): 0"]


def test_what_is_not_read_for_its_length_is_told(py):
    """Of a text that is cut into more pieces than are parsed."""
    file = py(PROSE + "a = 1\n" * 4_000 + STEP)
    assert file.defines == {"a": 3_001}
    assert any("3,002번째 줄부터" in note for note in file.notes), file.notes


def test_pieces_that_do_not_parse_together_are_not_graded(monkeypatch):
    """No such text is known."""

    def strict(text: str) -> list[object]:
        if "import a" in text and "import b" in text:
            raise ParseError("", 1)
        return list(parse(text))

    monkeypatch.setattr(recovery, "parse", strict)
    found = recover("import a\ndef train_step(:\nimport b\n")
    assert found.text == "\n\n\n"
    assert [broken.name for broken in found.broken] == ["train_step"]


def test_a_broken_function_costs_only_itself(py):
    """Of a file without cells, too."""
    file = py(
        f"import os\nLR = 1\n\n{STEP}\n\ndef accumulate(model:\n    return 1\n\n\ndef other():\n    return 2\n"
    )
    assert set(file.defines) == {"LR", "train_step", "other"}
    problem = file.problem_for("accumulate")
    assert problem is not None
    assert (problem.line, problem.shown) == (8, "def accumulate(model:")
    assert "괄호 `(`를 열고 닫지 않았어요" in problem.message


def test_a_broken_line_outside_of_functions_is_left_out_and_told(py):
    file = py(f'{STEP}print "ok"\n')
    assert set(file.defines) == {"train_step"}
    assert "3번째 줄" in file.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "def train_step(:\n    accumulate(model)\n",
        "def train_step(:\n    pass\n# def accumulate(model):\n",
        f"{PROSE}{MORE}def train_step(:\n",
        "class Trainer(:\n    def accumulate(self):\n        pass\n\ndef train_step(:\n",
    ],
    ids=["call", "comment", "prose", "method"],
)
def test_a_name_that_only_occurs_is_not_begun(py, text):
    file = py(text)
    assert file.defines_or_attempts("train_step")
    assert not file.defines_or_attempts("accumulate")


def test_the_lines_that_are_told_are_those_left_out(py):
    """Blank lines between them are, lines of code are not."""
    file = py(f"{PROSE}\n\n```python\n{STEP}```\n{PROSE}```python\nLR = 1\n```\n")
    assert kept(file) == [*STEP_LINES, "LR = 1"]
    assert "(1~4, 7~9, 11번째 줄)" in file.notes[0]


def test_prose_alone_is_told_as_prose(py):
    file = py(PROSE + MORE)
    assert file.defines == {}
    assert not file.defines_or_attempts("accumulate")
    (note,) = file.notes
    assert "코드가 아니라 글이에요" in note


def test_a_cell_that_writes_a_file_is_read_and_told(ipynb):
    file = ipynb(code("import os"), code(f"# 저장\n%%writefile train.py\n{STEP}"))
    assert file.defines == {"train_step": 4}
    assert file.nearest_place(4) == Place(2, 3)
    assert file.notes == ("코드 셀 2의 `%%writefile train.py` 아래의 코드를 읽었어요.",)


def test_a_cell_that_runs_counts_before_one_that_writes_a_file(ipynb):
    file = ipynb(code(STEP), code("%%writefile train.py\ndef train_step(model):\n    return 2\n"))
    assert file.defines == {"train_step": 1}
    assert file.notes == ()


def test_a_cell_that_writes_a_file_counts_where_the_notebook_imports_it(ipynb):
    file = ipynb(code(f"%%writefile train.py\n{STEP}"), code("from train import train_step"))
    assert file.defines == {"train_step": 2}


def test_a_cell_that_writes_a_file_without_an_exercise_is_not_read(ipynb):
    """Its helpers would replace those of the cells that run."""
    file = ipynb(code("LR = 1"), code("%%writefile settings.py\nLR = 2\n"))
    assert kept(file) == ["LR = 1"]


def test_a_file_that_begins_with_writefile_is_read_and_told(py):
    file = py(f"%%writefile train.py\n{STEP}")
    assert file.defines == {"train_step": 2}
    assert "%%writefile train.py" in file.notes[0]


def test_practice_in_a_broken_file_is_no_answer(py):
    """`drill(...)` below the second definition makes that one practice, whatever else is broken."""
    again = "def train_step(model):\n    return 2\ndrill(train_step)\n"
    file = py(f"{STEP}\n\ndef accumulate(:\n\n{again}")
    assert "return 2" not in file.text
    assert file.defines["train_step"] == 1


@given(
    st.lists(
        FRAGMENTS | st.sampled_from([PROSE, MORE, STEP, "```python", "```", "def f(:", "@a", "    x"]),
        max_size=8,
    )
)
@example(["```python", STEP, "```python"])
@settings(deadline=None)
def test_whatever_is_recovered_parses_line_for_line(parts):
    text = "\n".join(parts)
    found = recover(text)
    parse(found.text)
    assert found.text.count("\n") == text.count("\n")
    lines = text.split("\n")
    for number, line in enumerate(found.text.split("\n")):
        assert line.strip() in ("", "0") or line.strip() in lines[number]


WORDS = [
    "물론",
    "(",
    ")",
    "def f(",
    '"""',
    "'",
    "```python",
    "```",
    "@a",
    "x = [",
    "\\",
    "    ",
    "import a",
    ":",
    "{",
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("glue", [" ", "\n"])
def test_hostile_text_is_read_with_little_work(tmp_path, seed, glue):
    drawn = random.Random(seed)
    text = glue.join(drawn.choice(WORDS) for _ in range(MAX_CODE_CHARS))[:MAX_CODE_CHARS]
    path = tmp_path / "hw.py"
    path.write_text(text)
    assert calls_of(lambda: read_submission(path, EXERCISES)) < 4_000_000  # 2.2 million: eight a character


@pytest.mark.timeout(60)
@pytest.mark.parametrize("size", [250_000, 1_000_000], ids=["read", "refused"])
def test_a_novel_is_told_with_little_work(tmp_path, size):
    path = tmp_path / "hw.py"
    path.write_text((PROSE + MORE) * (size // len(PROSE + MORE)))
    assert calls_of(lambda: read_submission(path, EXERCISES)) < 700_000  # 343,000
