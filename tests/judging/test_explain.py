"""Sets of mistakes: whole, in part, and within the budget."""

import pytest

from grader.judging import explain as explaining
from grader.judging import trials
from grader.judging.edits import exercise_source, solution_text
from grader.judging.explain import explain
from grader.judging.judge import judge
from grader.judging.reference import Reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Run
from tests.judging.examined import COURSE

PLAIN = """
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    steps = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb){scale}
        loss.backward()
        if (i + 1) % accum_steps == 0:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            steps += 1
    opt.zero_grad()
    return steps
"""


def wrong(source: str, its: Reference) -> tuple[dict[str, Run], list[str]]:
    trace = play(its.exercise.driver, load_program(source), seed=its.seed)
    return trace.runs, list(judge(its.exercise, trace, its.solution).differences)


def names(sets: tuple[tuple[explaining.Way, ...], ...]) -> set[str]:
    return {way.mistake.id for way in sets[0]} if sets else set()


def test_the_plain_first_try_is_named_whole() -> None:
    its = Reference(COURSE.exercise("accumulate"), 5)
    found = explain(its, *wrong(PLAIN.format(scale=""), its))
    assert names(found.sets) == {"no-division", "drops-leftover", "no-accum-check"}
    assert not found.unexplained


def test_what_nothing_explains_stays_open() -> None:
    """An unlisted scale spoils what the division decides; the rest is explained all the same."""
    its = Reference(COURSE.exercise("accumulate"), 5)
    found = explain(its, *wrong(PLAIN.format(scale=" / (0.37 * accum_steps)"), its))
    assert names(found.sets) == {"no-accum-check"} | (names(found.sets) & {"drops-leftover"})
    assert "sgd" in found.unexplained


def test_the_answer_does_not_depend_on_what_was_played_before() -> None:
    its, fresh = Reference(COURSE.exercise("accumulate"), 5), Reference(COURSE.exercise("accumulate"), 5)
    runs, differ = wrong(PLAIN.format(scale=" * 1.5"), its)
    explain(its, *wrong(PLAIN.format(scale=""), its))
    explain(its, *wrong(PLAIN.format(scale=" / 2"), its))
    assert explain(its, runs, differ) == explain(fresh, runs, differ)


def test_the_budget_bounds_the_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_PLAYS", 60)
    monkeypatch.setattr(trials, "_RESERVED_PLAYS", 20)
    its = Reference(COURSE.exercise("accumulate"), 5)
    runs, differ = wrong(PLAIN.format(scale=" * 1.5"), its)
    before = its.plays
    explain(its, runs, differ)
    assert its.plays - before <= 60


def test_without_a_table_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake that is newer than `behaviours.json` is played where the table says nothing."""
    its = Reference(COURSE.exercise("sgd_update"), 5)
    way = its.ways[0]
    runs = {s.name: its.run(its.sources[way.name], s.name) for s in its.exercise.driver.scenarios}
    monkeypatch.setattr("grader.judging.reference.behaviours_of", lambda _: {})
    bare = Reference(COURSE.exercise("sgd_update"), 5)
    differ = [s for s in runs if not bare.agrees("", s, runs[s])]
    assert names(explain(bare, runs, differ).sets) == names(explain(its, runs, differ).sets)


def test_a_program_of_another_kind_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no known mistake explains any scenario so far, none is looked for in the rest."""
    exercise = COURSE.exercise("sam_accumulate")
    right = exercise_source(exercise)
    strange = right.replace("(perturbed_loss /", "(1.37 * perturbed_loss /")
    assert strange != right
    runs, differing = wrong(f"{solution_text(exercise.lesson)}\n\n{strange}", Reference(exercise, 5))
    assert len(differing) > 5

    def plays_made(hope: int) -> int:
        its = Reference(exercise, 5)
        monkeypatch.setattr(explaining, "_MAX_PLAYS_WITHOUT_SUCCESS", hope)
        assert not explain(its, runs, differing).sets
        return its.plays

    assert plays_made(hope=1) < plays_made(hope=10**9)
