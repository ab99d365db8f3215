"""Sets of mistakes: whole, in part, and within the budget."""

import pytest

from grader.judging import agreement_oracle, beam_search
from grader.judging.beam_search import Candidate
from grader.judging.edits import Combination
from grader.judging.judge import judge
from grader.judging.mistake_search import _Search, find_mistakes
from grader.judging.reference import Reference
from grader.judging.solution import exercise_source, solution_source
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
    return trace.runs, list(judge(its.exercise, trace, its.solution_run).differences)


def names(sets: tuple[Combination, ...]) -> set[str]:
    return {variant.mistake.id for variant in sets[0]} if sets else set()


def test_the_plain_first_try_is_named_whole() -> None:
    its = Reference(COURSE.exercise("accumulate"), 5)
    found = find_mistakes(its, *wrong(PLAIN.format(scale=""), its))
    assert names(found.combinations) == {"no-division", "drops-leftover", "no-accum-check"}
    assert not found.unexplained


def test_what_nothing_explains_stays_open() -> None:
    """An unlisted scale spoils what the division decides; the rest is explained all the same."""
    its = Reference(COURSE.exercise("accumulate"), 5)
    found = find_mistakes(its, *wrong(PLAIN.format(scale=" / (0.37 * accum_steps)"), its))
    assert names(found.combinations) == {"no-accum-check"} | (names(found.combinations) & {"drops-leftover"})
    assert "sgd" in found.unexplained


def test_the_answer_does_not_depend_on_what_was_played_before() -> None:
    its, fresh = Reference(COURSE.exercise("accumulate"), 5), Reference(COURSE.exercise("accumulate"), 5)
    runs, differ = wrong(PLAIN.format(scale=" * 1.5"), its)
    find_mistakes(its, *wrong(PLAIN.format(scale=""), its))
    find_mistakes(its, *wrong(PLAIN.format(scale=" / 2"), its))
    assert find_mistakes(its, runs, differ) == find_mistakes(fresh, runs, differ)


def test_the_budget_bounds_the_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement_oracle, "_MAX_PLAYS", 60)
    monkeypatch.setattr(agreement_oracle, "_RESERVED_PLAYS", 20)
    its = Reference(COURSE.exercise("accumulate"), 5)
    runs, differ = wrong(PLAIN.format(scale=" * 1.5"), its)
    before = its.play_count
    find_mistakes(its, runs, differ)
    # In each of three rounds and at the end, two candidates may always be played whole.
    always_allowed = 4 * 2 * len(its.exercise.driver.scenarios)
    assert its.play_count - before <= 60 + always_allowed


def test_without_a_table_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake that is newer than `behaviours.json` is played where the table says nothing."""
    its = Reference(COURSE.exercise("sgd_update"), 5)
    variant = its.variants[0]
    runs = {
        s.name: its.complete_run(its.sources[variant.name], s.name) for s in its.exercise.driver.scenarios
    }
    monkeypatch.setattr("grader.judging.reference.behaviours_of", lambda _: {})
    bare = Reference(COURSE.exercise("sgd_update"), 5)
    differ = [s for s in runs if not bare.reproduces("", s, runs[s])]
    assert names(find_mistakes(bare, runs, differ).combinations) == names(
        find_mistakes(its, runs, differ).combinations
    )


def test_a_program_of_another_kind_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no known mistake explains any scenario so far, none is looked for in the rest."""
    exercise = COURSE.exercise("sam_accumulate")
    right = exercise_source(exercise)
    strange = right.replace("(perturbed_loss /", "(1.37 * perturbed_loss /")
    assert strange != right
    runs, differing = wrong(f"{solution_source(exercise.lesson)}\n\n{strange}", Reference(exercise, 5))
    assert len(differing) > 5

    def plays_made(hope: int) -> int:
        its = Reference(exercise, 5)
        monkeypatch.setattr(beam_search, "_MAX_PLAYS_WITHOUT_SUCCESS", hope)
        assert not find_mistakes(its, runs, differing).combinations
        return its.play_count

    assert plays_made(hope=1) < plays_made(hope=10**9)


def test_what_brings_a_set_nearer_does_not_depend_on_how_far_it_was_played() -> None:
    """Every variant's run is broken off at the first difference from the learner's, or known to its end."""
    exercise, scenario = COURSE.exercise("sgd_update"), "moves"
    fresh, played = Reference(exercise, 5), Reference(exercise, 5)
    learner = {scenario: fresh.complete_run(fresh.sources["moves-without-no-grad"], scenario)}
    fresh = Reference(exercise, 5)
    for source in played.sources.values():
        played.complete_run(source, scenario)

    def progress(its: Reference) -> list[int]:
        oracle = agreement_oracle.AgreementOracle(its, learner, [scenario])
        oracle.ensure_plays_left(10**6)
        return [oracle.measure_progress(frozenset([variant]), scenario) for variant in its.variants]

    assert progress(fresh) == progress(played)


def test_mistakes_that_cancel_each_other_are_not_named() -> None:
    """Twice the loss was told as a loss that is multiplied before `backward`, though the updates were right."""
    its = Reference(COURSE.exercises["train_step"], seed=1)
    source = exercise_source(its.exercise).replace("return loss.item()", "return 2 * loss.item()")
    runs, names = wrong(source, its)
    assert names == ["returns"]
    found = find_mistakes(its, runs, names)
    assert (found.combinations, found.unexplained) == ((), ("returns",))


def test_a_candidate_is_not_taken_to_spoil_what_no_play_was_left_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All right scenarios counted as spoilt then, and the plays that are left went to mistakes that act there."""
    monkeypatch.setattr(agreement_oracle, "_MAX_PLAYS", 0)
    monkeypatch.setattr(agreement_oracle, "_RESERVED_PLAYS", 0)
    its = Reference(COURSE.exercise("train_step"), 1)
    made = [v for v in its.variants if v.name in ("missing-zero-grad", "forward-twice")]
    source = its.source_with_mistakes(made)
    assert source is not None
    runs, differ = wrong(f"import torch\n{source}", its)
    first = frozenset(made[:1])
    explained = tuple(s for s in differ if its.reproduces(its.sources[made[0].name], s, runs[s]))
    found = _Search(its, runs, differ)._grown_to_explain_all(Candidate(first, explained))
    assert found.explained == tuple(differ)
