"""Giving a function another name changes that name wherever it means the function, and nothing else."""

import ast
from pathlib import Path

import pytest

from grader.submission.renaming import with_names
from grader.submission.source_file import SourceFile
from grader.submission.submission import read_submission

OWN = "trainStep"


def source(tmp_path: Path, text: str, own: str = OWN) -> SourceFile:
    (tmp_path / "hw.py").write_text(text)
    (file,) = read_submission(tmp_path / "hw.py", (own,)).files
    return file


def test_renaming_changes_the_name_and_nothing_else(tmp_path):
    text = (
        '"""trainStep"""\n\n\n@deco\ndef trainStep(model):  # trainStep\n    """Say trainStep."""\n'
        "    한글 = trainStep; return model.trainStep(trainStep=한글), trainStep\n\n\nother = trainStep\n"
    )
    file = source(tmp_path, text)
    new = with_names(file, {"trainStep": "train_step"})
    wanted = file.text.replace("def trainStep", "def train_step").replace("= trainStep;", "= train_step;")
    wanted = wanted.replace("), trainStep", "), train_step").replace(
        "other = trainStep", "other = train_step"
    )
    assert new.text == wanted
    assert new.defines["train_step"] == file.defines["trainStep"]
    ast.parse(new.text)


def test_a_broken_function_is_renamed_too(tmp_path):
    file = source(tmp_path, "def trainStep(:\n")
    assert with_names(file, {"trainStep": "train_step"}).complaint("train_step") is not None


@pytest.mark.parametrize(
    "other",
    [
        "def other(trainStep): return trainStep(1)",
        "def other(*trainStep):\n    def inner(): return trainStep\n    return inner",
        "def other():\n    def trainStep(): pass\n    return trainStep()",
        "def other():\n    from helpers import trainStep\n    return trainStep()",
        "def other():\n    try: pass\n    except OSError as trainStep: print(trainStep)",
        "def other(x):\n    match x:\n        case [trainStep]: return trainStep",
        "def other():\n    trainStep = 1\n    def inner():\n        nonlocal trainStep\n        trainStep = 2",
        "class Other:\n    def trainStep(self): pass\n    also = trainStep",
        "other = lambda trainStep: trainStep(1)",
    ],
)
def test_another_thing_of_that_name_keeps_it(tmp_path, other):
    file = source(tmp_path, f"def trainStep(model):\n    return 1\n\n{other}\n")
    assert with_names(file, {OWN: "train_step"}).text == file.text.replace("trainStep", "train_step", 1)


@pytest.mark.parametrize(
    "text",
    [
        "async def trainStep(model): return trainStep",
        "def trainStep(model): pass\ndef other():\n    global LR, trainStep\n    trainStep = 1\nLR = 1",
        "def trainStep(m): pass\nclass Other:\n    def run(self): return trainStep\n    @trainStep\n    def f(self): 0",
        "def trainStep(m): pass\ndef other(f=trainStep) -> trainStep: return [trainStep for _ in f]",
        "def \\\n  trainStep(m): pass",
        "class trainStep: pass\nother = lambda x=trainStep: trainStep",
        "def trainStep(m): pass\ndef other(): return f'{trainStep(1)!r}'",
    ],
    ids=["async", "global", "class", "heads", "continued", "lambda", "f-string"],
)
def test_the_name_is_changed_wherever_it_means_the_function(tmp_path, text):
    file = source(tmp_path, text + "\n")
    assert OWN in file.text
    assert with_names(file, {OWN: "train_step"}).text == file.text.replace(OWN, "train_step")


def test_a_method_may_have_the_name_that_its_body_calls(tmp_path):
    text = "def trainStep(m): pass\nclass Other:\n    def trainStep(self): return trainStep(self)\n"
    wanted = text.replace("def trainStep(m)", "def train_step(m)").replace(
        "return trainStep", "return train_step"
    )
    assert with_names(source(tmp_path, text), {OWN: "train_step"}).text.rstrip() == wanted.rstrip()


def test_a_name_is_replaced_as_it_is_written(tmp_path):
    """Python reads the ligature as two letters."""
    file = source(tmp_path, "def \ufb01t(x): return \ufb01t, fit\n", own="fit")
    new = with_names(file, {"fit": "train_step"}).text
    assert new.rstrip() == "def train_step(x): return train_step, train_step"
