"""The search for a repair of a learner's own program: what it tries, what it finds, and that it keeps its budget."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

import pytest
from torch import nn

from grader.course.course import Exercise
from grader.course.feedback import Diagnosis, Feedback, NamedMistake
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.repair import search as repair_search
from grader.judging.repair.add_repair import with_repair
from grader.judging.repair.edit_drafts import KINDS, Kind
from grader.judging.repair.search import Repair, search_repair
from grader.judging.repair.small_edits import SmallEdit, small_edits
from grader.judging.solution import exercise_source, solution_with_needed_imports
from grader.observe.memory import GraphMeter
from grader.observe.play import play, play_scenario
from grader.observe.program import load_program
from grader.observe.recorder import Recorder
from grader.observe.trace import Run
from grader.report import words
from grader.sandbox.attempts_spent import AttemptsSpent
from tests.judging.examined import COURSE, quickly
from tests.sample_programs import sample, samples

SEED = 1


class InProcess:
    """Plays attempts here: those below all come to an end."""

    def __init__(self, exercise: str) -> None:
        self.driver = COURSE.exercise(exercise).driver
        self.plays = 0

    def run(self, text: str, scenario: str) -> Run | None:
        self.plays += 1
        program = load_program(text, name="attempt")
        try:
            if self.driver.name not in program.names:
                return None
            return play_scenario(self.driver[scenario], program, seed=SEED)
        finally:
            program.unload()


def style(exercise: str, name: str) -> str:
    return sample("accepted", exercise, name).text


def repaired(
    exercise: str, text: str, budget: int = 200, runner: InProcess | None = None
) -> tuple[Repair | None, InProcess]:
    its = cached_reference(exercise, SEED)
    program = load_program(text, name="wrong")
    try:
        runs = play(its.exercise.driver, program, seed=SEED).runs
    finally:
        program.unload()
    runner = runner or InProcess(exercise)
    return search_repair(its.exercise, text, runs, its.solution_run, runner, budget=budget), runner


@dataclass(frozen=True)
class Wrong:
    """A right program with texts replaced, and what a tutor would point at."""

    exercise: str
    style: str
    edits: tuple[tuple[str, str], ...]
    near: str
    """The line to be pointed at, or one beside it, has this text in the wrong program."""


WRONG = [
    Wrong("train_step", "grad_none_loop", (("loss.backward()", "loss.backward"),), "loss.backward"),
    Wrong("accumulate", "index_loop_with_flush", ((" / window", ""),), "loss ="),
    Wrong("accumulate", "index_loop_with_flush", ((" / window", " / accum_steps"),), "loss ="),
    Wrong("accumulate", "index_loop_with_flush", ((" or i + 1 == n", ""),), "if (i + 1) % accum_steps"),
    Wrong("accumulate", "index_loop_with_flush", (("(i + 1) % accum", "i % accum"),), "if i % accum_steps"),
    Wrong("accumulate", "index_loop_with_flush", (("            opt.zero_grad()\n", ""),), "opt.step()"),
    Wrong("accumulate", "index_loop_with_flush", (("            opt.step()\n", ""),), "opt.zero_grad()"),
    Wrong(
        "accumulate",
        "index_loop_with_flush",
        (("clip_grad_norm_(", "clip_grad_value_("),),
        "clip_grad_value_(",
    ),
    Wrong("evaluate", "list_of_modes", (("argmax(1)", "argmax(0)"),), "argmax(0)"),
    Wrong("lr_at", "boundary_included", ((">=", ">"),), ">"),
]


@pytest.mark.parametrize(
    "wrong", [pytest.param(w, id=f"{w.exercise}-{w.edits[0][1].strip()}") for w in WRONG]
)
def test_a_single_mistake_is_repaired_at_its_place(wrong: Wrong) -> None:
    """In styles that are not the solution's."""
    text = style(wrong.exercise, wrong.style)
    for old, new in wrong.edits:
        if old not in text:
            pytest.skip(f"the style has no {old!r}")
        text = text.replace(old, new, 1)
    repair, runner = repaired(wrong.exercise, text)
    assert repair is not None
    assert repair.repairs_everything
    assert repair.plays == runner.plays <= 200
    around = text.split("\n")[max(0, repair.edits[0].line - 2) : repair.edits[0].line + 1]
    assert any(wrong.near in line for line in around), repair.edits[0]


STEP = """def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
"""
LOOP = STEP.replace("    opt.zero_grad()\n", "    for _ in range(2):\n        opt.zero_grad()\n").replace(
    "    loss = loss_fn(model(xb), yb)\n    loss.backward()\n    opt.step()\n",
    "        loss = loss_fn(model(xb), yb)\n        loss.backward()\n        opt.step()\n",
)


@pytest.mark.parametrize(
    ("text", "kind", "near"),
    [
        (STEP.replace(".item()", ".item"), "not-called", "return"),
        (STEP.replace("loss.backward", "(-loss).backward"), "sign", "backward"),
        # Moved into the loop, the `return` would end it in its first round: a right program, but no advice.
        (LOOP, "superfluous", "for"),
    ],
    ids=["not-called", "sign", "loop"],
)
def test_an_edit_says_what_is_wrong_in_the_plainest_words(text: str, kind: Kind, near: str) -> None:
    repair, _ = repaired("train_step", text)
    assert repair is not None
    (edit,) = repair.edits
    assert edit.kind == kind
    assert near in text.split("\n")[edit.line - 1]


def test_several_mistakes_are_repaired_one_after_the_other() -> None:
    """Each edit with the line of the program as the learner wrote it."""
    text = "import torch\n" + exercise_source(COURSE.exercise("accumulate"))
    text = text.replace("    if accum_steps < 1:\n", "    if accum_steps < 0:\n").replace(
        "        opt.zero_grad()\n", ""
    )
    repair, _ = repaired("accumulate", text, budget=400)
    assert repair is not None
    assert repair.repairs_everything
    assert len(repair.edits) == 2
    lines = text.split("\n")
    said = [lines[max(0, edit.line - 2) : edit.line + 1] for edit in repair.edits]
    assert any("accum_steps < 0" in line for around in said for line in around)
    assert any("opt.step()" in line for around in said for line in around)


def test_half_of_what_went_wrong_is_mended_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """`int()` cuts off, and nothing keeps the warm-up at one step at least: few plays are enough for the first."""
    few = 3
    monkeypatch.setattr("grader.judging.repair.add_repair._BUDGET_FOR_FEW_EVENTS", few)
    text = style("plan_steps", "integer_arithmetic")
    right, wrong = "max(int(total * warmup_ratio + 0.5), 1)", "int(total * warmup_ratio)"
    assert right in text
    text = text.replace(right, wrong)
    found, runner = repaired("plan_steps", text, budget=few)
    assert found is not None
    assert not found.repairs_everything
    line = text[: text.index(wrong)].count("\n") + 1
    assert [edit.line for edit in found.edits] == [line]
    assert len(found.repaired_scenarios) >= len(found.still_failing) > 0
    its = cached_reference("plan_steps", SEED)
    runs = play(its.exercise.driver, load_program(text, name="wrong"), seed=SEED).runs
    learner_code = LearnerCode(text)
    silent = Feedback("03", "plan_steps", "", "failed", (), "")
    told = with_repair(silent, its.exercise, runs, its, learner_code, runner)
    assert [step.line for step in told.diagnosis.repair] == [told.line] == [line]
    titles = told.diagnosis.repair_leaves
    assert titles == tuple(its.exercise.driver[name].title for name in found.still_failing)
    assert words.repair_leaves(told).startswith(f"여기를 고쳐도 ‘{titles[0]}’에서는 결과가 아직 달라요.")
    named = replace(silent, diagnosis=Diagnosis(mistakes=(NamedMistake(("a",), ("가",), "", ""),)))
    assert with_repair(named, its.exercise, runs, its, learner_code, runner) == named


class Spent(InProcess):
    """Plays a few variants and no more."""

    def run(self, text: str, scenario: str) -> Run | None:
        if self.plays == 3:
            raise AttemptsSpent
        return super().run(text, scenario)


def test_a_runner_that_plays_nothing_more_ends_the_search_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making the edits that nobody plays any more takes seconds in a long program."""
    text = style("accumulate", "index_loop_with_flush").replace(" or i + 1 == n", "")
    made: list[SmallEdit] = []

    def counted(*arguments: Any) -> Iterator[SmallEdit]:
        for edit in small_edits(*arguments):
            made.append(edit)
            yield edit

    monkeypatch.setattr(repair_search, "small_edits", counted)
    repair, runner = repaired("accumulate", text, runner=Spent("accumulate"))
    assert repair is None
    assert runner.plays == 3
    assert len(made) <= 4


def test_the_search_is_the_same_each_time_and_keeps_its_budget() -> None:
    """It counts plays, not seconds."""
    text = style("accumulate", "index_loop_with_flush").replace(" or i + 1 == n", "")
    first, _ = repaired("accumulate", text)
    second, _ = repaired("accumulate", text)
    assert first == second
    for budget in (0, 1, 7):
        _, runner = repaired("accumulate", text, budget=budget)
        assert runner.plays <= budget


def test_an_edit_that_repairs_its_scenario_is_played_in_all_though_the_budget_ends() -> None:
    """What is likely to be the repair is not thrown away a few plays before it is known to be one."""
    text = style("accumulate", "index_loop_with_flush").replace(" or i + 1 == n", "")
    repair, runner = repaired("accumulate", text)
    assert repair is not None
    assert len(repair.edits) == 1
    confirming = len(COURSE.exercise("accumulate").driver.scenarios) - 1
    first = runner.plays - confirming
    """The play in which the edit repairs its own scenario."""
    assert first > 1
    again, _ = repaired("accumulate", text, budget=first)
    assert again == repair
    nothing, runner = repaired("accumulate", text, budget=first - 1)
    assert nothing is None
    assert runner.plays == first - 1


def edits_of(exercise: str, text: str) -> list[SmallEdit]:
    return list(small_edits(text, exercise, exercise_source(COURSE.exercise(exercise))))


@pytest.mark.parametrize("exercise", quickly("fit", "accumulate"))
def test_scenarios_that_measure_memory_say_so(exercise: Exercise, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is counted without them."""
    measured: list[nn.Module] = []
    measure = Recorder.measure_memory

    def noting(self: Recorder, model: nn.Module) -> GraphMeter:
        measured.append(model)
        return measure(self, model)

    monkeypatch.setattr(Recorder, "measure_memory", noting)
    program = load_program(solution_with_needed_imports(exercise.lesson), name="solution")
    for scenario in exercise.driver.scenarios:
        measured.clear()
        play_scenario(scenario, program, seed=SEED)
        assert scenario.watches_memory == bool(measured), scenario.name
    program.unload()


def test_every_kind_of_edit_has_a_phrase() -> None:
    assert KINDS.keys() == {*get_args(Kind)}
    assert len({kind.phrase for kind in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize("exercise", quickly("train_step", "fit", "SAM", one_in=8))
def test_every_edit_is_a_program_and_stands_once(exercise: Exercise) -> None:
    """In somebody's style; what stands outside the definition stays as it is."""
    name = exercise.name
    for right in samples("accepted", name)[:1]:
        text = f"# 앞\n{right.text}\n# 뒤"
        found = edits_of(name, text)
        texts = [edit.program for edit in found]
        assert len(set(texts)) == len(texts)
        assert text not in texts
        for edit in found:
            ast.parse(edit.program)
            assert edit.program.startswith("# 앞\n")
            assert edit.program.endswith("\n# 뒤")
            assert 1 <= edit.line <= text.count("\n") + 1
            assert edit.phrase
            assert edit.old or edit.new


def test_the_learners_text_stays() -> None:
    """Comments, Korean ones before the place too, and their own spacing."""
    text = "def zero_gradients(params):\n    # 하나씩\n    for 값 in params:  # 모두\n        값.grad=0*값 # 여기\n"
    for edit in edits_of("zero_gradients", text):
        kept = [line for line in text.split("\n") if line in edit.program.split("\n")]
        assert len(kept) >= 2, edit


@pytest.mark.parametrize(
    "text", ["", "x = 1\n", "def train_step(:\n", "train_step = None\n", "def train_step(): pass\n"]
)
def test_what_cannot_be_edited_has_no_edits(text: str) -> None:
    """Nor does it fail."""
    edits = edits_of("train_step", text)
    assert all("def train_step" in edit.program for edit in edits)


def test_names_that_leave_something_open_go_where_one_small_edit_mends_everything() -> None:
    text = style("plan_steps", "integer_arithmetic").replace("warmup_ratio > 0.2", "warmup_ratio >= 0.2")
    its = cached_reference("plan_steps", SEED)
    runs = play(its.exercise.driver, load_program(text, name="wrong"), seed=SEED).runs
    false = Diagnosis(mistakes=(NamedMistake(("a",), ("가",), "", ""),), unexplained=("비율의 끝",))
    named = Feedback("03", "plan_steps", "", "failed", (), "가", diagnosis=false)
    told = with_repair(named, its.exercise, runs, its, LearnerCode(text), InProcess("plan_steps"))
    assert not told.diagnosis.mistakes
    assert not told.diagnosis.unexplained
    assert told.message != "가"
    assert told.line == told.diagnosis.repair[0].line == 2
    assert words.rest(told) == ""
