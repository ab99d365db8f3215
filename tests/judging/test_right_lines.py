"""What learners see of the solution beside a mistake is its code, and nothing looks adjacent that is not."""

import io
import tokenize

import pytest

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.judging import right_lines as module
from grader.judging.edits import variants_of
from grader.judging.explain import ExplainedMistake
from grader.judging.learner_code import LearnerCode
from grader.judging.right_lines import changed_lines, right_lines
from grader.judging.solution import exercise_source
from grader.judging.uncalled import unmade_call

EXERCISE = load_course().exercises["train_step"]

DECORATED = '''\
@mark
def train_step(
    model,
    opt,
):
    """Make an update."""
    # A comment of its own line.
    a = 1  # why
    b = 2

    c = "# no comment"
    d = 4
    return a
'''


def shown_for(monkeypatch: pytest.MonkeyPatch, wrong: str, right: str = DECORATED) -> tuple[str, ...]:
    """Return the right lines if `wrong` is the program of a mistake, and `right` the solution."""
    monkeypatch.setattr(module, "exercise_source", lambda exercise: right)
    monkeypatch.setattr(module, "variant_source", lambda exercise, variant: wrong)
    return right_lines(EXERCISE, a_mistake(EXERCISE))


def a_mistake(exercise: Exercise, name: str | None = None) -> ExplainedMistake:
    variants = variants_of(exercise)
    variant = next(v for v in variants if name in (None, v.name))
    return ExplainedMistake(variant, (variant.mistake,), ())


def test_lines_are_shown_without_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_for(monkeypatch, DECORATED.replace("a = 1", "a = 0")) == ("a = 1",)
    assert shown_for(monkeypatch, DECORATED.replace("no comment", "one")) == ('c = "# no comment"',)
    assert shown_for(monkeypatch, DECORATED.replace("# why", "# because")) == ()


def test_lines_that_are_not_neighbours_have_a_gap_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = DECORATED.replace("a = 1", "a = 0").replace("d = 4", "d = 0")
    assert shown_for(monkeypatch, wrong) == ("a = 1", "...", "d = 4")
    wrong = DECORATED.replace("b = 2", "b = 0").replace('"# no comment"', "0")
    assert shown_for(monkeypatch, wrong) == ("b = 2", 'c = "# no comment"')


def test_a_line_that_moved_comes_with_its_neighbours_but_without_the_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moved = DECORATED.replace("    b = 2\n", "").replace("    d = 4\n", "    d = 4\n    b = 2\n")
    assert shown_for(monkeypatch, moved) == ("a = 1", "b = 2", 'c = "# no comment"')
    first = DECORATED.replace("    a = 1  # why\n", "").replace("    d = 4\n", "    d = 4\n    a = 1\n")
    assert shown_for(monkeypatch, first) == ("a = 1", "b = 2")


BLOCKS = DECORATED.replace(
    "    d = 4\n",
    "    if d is not None:\n        clip.do_(d)\n    state = {\n        # all\n        1: a,\n        2: b,\n    }\n",
)


def test_what_stands_under_if_false_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = BLOCKS.replace("if d is not None", "if False")
    assert shown_for(monkeypatch, wrong, BLOCKS) == ("if d is not None:", "    clip.do_(d)")
    program = "def train_step(model, opt):\n    clip.do_\n"
    assert unmade_call(EXERCISE, a_mistake(EXERCISE), LearnerCode(program)) is not None


def test_a_statement_of_several_lines_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ("state = {", "    1: a,", "    2: b,", "}")
    for old, new in (("state = {", "gone = {"), ("        2: b,\n", ""), ("1: a", "1: b")):
        assert shown_for(monkeypatch, BLOCKS.replace(old, new), BLOCKS) == whole
    longer = BLOCKS.replace("2: b,\n", "2: b,\n        3: a,\n")
    assert shown_for(monkeypatch, longer.replace("1: a", "1: b"), longer) == ()
    head = DECORATED.replace("    opt,\n", "")
    assert shown_for(monkeypatch, head.replace("    model,\n", ""), head) == (
        "def train_step(",
        "    model,",
        "):",
    )


def test_a_mistake_that_only_adds_and_one_that_replaces_much_show_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shown_for(monkeypatch, DECORATED.replace("    d = 4\n", "    d = 4\n    e = 5\n")) == ()
    assert shown_for(monkeypatch, DECORATED[: DECORATED.index("    a =")] + "    return 1\n") == ()


@pytest.mark.parametrize("exercise", load_course().exercises.values(), ids=lambda exercise: exercise.name)
def test_every_mistake_shows_code_of_the_solution(exercise: Exercise) -> None:
    solution = [line.strip() for line in exercise_source(exercise).splitlines()]
    for variant in variants_of(exercise):
        lines = right_lines(exercise, ExplainedMistake(variant, (variant.mistake,), ()))
        code = [line.strip() for line in lines if line.strip() != "..."]
        assert all(any(line.startswith(one) for line in solution) for one in code), variant.name
        for one in code:  # a line of a longer statement need not end in itself
            assert not any(token.type == tokenize.COMMENT for token in tokens(one)), variant.name


def tokens(line: str) -> list[tokenize.TokenInfo]:
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            found.append(token)
    except tokenize.TokenError:
        pass
    return found


def test_a_missing_call_is_found_in_a_mistake_of_many_lines() -> None:
    """A card would show none of them; whether a method is called in them can be told all the same."""
    exercise = load_course().exercises["amp_accumulate"]
    mistake = a_mistake(exercise, "step-every-micro-batch")
    assert right_lines(exercise, mistake) == ()
    assert len(changed_lines(exercise, mistake)) > 4
    program = "def amp_accumulate(model, opt, scaler):\n    scaler.step\n    scaler.update()\n"
    found = unmade_call(exercise, mistake, LearnerCode(program))
    assert found is not None
    assert (found.line, found.title) == (2, "")
    assert "`scaler.step`" in found.sentence


def test_a_bare_jump_comes_with_its_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    right = "def train_step(xs):\n    for x in xs:\n        if x is None:\n            continue\n        x.add_(1)\n"
    shown = shown_for(monkeypatch, right.replace("continue", "x = 0"), right)
    assert shown == ("if x is None:", "    continue")
