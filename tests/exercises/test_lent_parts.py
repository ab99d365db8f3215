"""`train` and `train_accelerate` may call what earlier notebooks ask for: their drivers lend what a program lacks."""

from typing import Any

import pytest

from grader.course.reading import load_course
from grader.exercises.fixtures.lent import PARTS, lent_parts
from grader.experiments.loop_anatomy import parts as borrowed
from grader.judging.solution import exercise_source
from grader.notebook.check import check
from grader.observe.play import play
from grader.observe.program import load_program

COURSE = load_course()
IMPORTS = "import torch\nfrom torch.nn import functional as F\n"
IMPORTS_OF_LESSON = """\
import math
import os
import random
from pathlib import Path

import numpy as np
import torch
"""


@pytest.mark.parametrize("name", ["train", "train_accelerate"])
def test_the_function_alone_plays_as_the_whole_lesson(name: str) -> None:
    """A learner who hands in only that notebook has none of the parts."""
    exercise = COURSE.exercise(name)
    program = load_program(IMPORTS + exercise_source(exercise), name="only_this_notebook")
    try:
        trace = play(exercise.driver, program, seed=7, only=["run", "checkpoint"])
    finally:
        program.unload()
    assert set(trace.runs) == {"run", "checkpoint"}
    assert [run.failure for run in trace.runs.values()] == [None, None]
    assert set(exercise.driver.lends) == set(PARTS)


def test_the_learners_own_parts_are_used_and_nothing_stays() -> None:
    own: dict[str, Any] = {}
    exec("def warmup_cosine(): pass\ndef train(): return warmup_cosine, seed_everything", own)
    before = set(own)
    with lent_parts(own["train"]):
        assert own["train"]() == (own["warmup_cosine"], PARTS["seed_everything"])
    assert set(own) == before


def test_a_borrowed_part_is_no_answer() -> None:
    """Neither in a notebook, by its name, nor in a submission, where the import is left out."""
    for name in PARTS:
        part = getattr(borrowed, name)
        assert part is PARTS[name]
        assert part.__name__ not in COURSE.exercises
        assert "연습 문제는 없어요" in str(check(part))


@pytest.mark.parametrize("name", ["seed_everything", "warmup_cosine", "BestCheckpoint"])
def test_a_lent_part_does_what_its_exercise_asks(name: str) -> None:
    exercise = COURSE.exercise(name)
    source = f"from grader.exercises.fixtures.lent import PARTS\n{name} = PARTS[{name!r}]\n"
    lent = load_program(source, name="lent")
    right = load_program(IMPORTS_OF_LESSON + exercise_source(exercise), name="right")
    try:
        found = play(exercise.driver, lent, seed=7)
        wanted = play(exercise.driver, right, seed=7)
    finally:
        lent.unload()
        right.unload()
    for scenario, run in wanted.runs.items():
        assert found.runs[scenario].facts == run.facts, scenario
        assert found.runs[scenario].failure == run.failure
