"""What the clinic hands out: 200 draws, none of them broken or right already; other names, the same mistakes."""

import ast
import random
import re

import pytest

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.compare_runs import find_difference
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source
from grader.observe.play import play_scenario
from grader.observe.program import load_program
from grader.practice.case import Case, draw, draw_pair, is_short
from grader.practice.counter_evidence import about_line
from grader.practice.disguise import disguised, free_names, other_names, with_name
from grader.practice.symptoms import _differ_in_words, question
from tests.judging.examined import BY_COMMAND

SHORT = [e for e in load_course().exercises.values() if is_short(e)]
CLASSES = ("TrainConfig", "BestCheckpoint", "Snapshot", "SAM")
DRAWS = 200


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    """One in eight has two mistakes; some pairs do not go together, and another is drawn in their place."""
    chance = random.Random(20_261_123)
    found: list[Case] = []
    while len(found) < DRAWS:
        # One exercise after the other: the solution's runs are kept.
        exercise = SHORT[len(found) * len(SHORT) // DRAWS]
        pair = chance.random() < 0.125
        id_ = chance.choice(exercise.mistakes).id
        case = draw_pair(exercise, chance) if pair else draw(exercise, [id_], chance)
        assert pair or case is not None, f"{exercise.name}/{id_} cannot be handed out"
        if case is not None:
            found.append(case)
    return found


def test_no_draw_is_broken_or_right_already(drawn: list[Case]) -> None:
    """Each file is loaded as it is handed out, by itself, and played again."""
    for number, case in enumerate(drawn):
        program = load_program(case.text, name=f"draw_{number}")
        assert program.failures == {}, case.text
        scenario = case.exercise.driver[case.scenario]
        run = play_scenario(scenario, program, seed=SEED)
        program.unload()
        right = cached_reference(case.exercise.name, SEED).solution_run(case.scenario)
        assert find_difference(run, right, scenario.atol) is not None, case.text
        assert run.failure is None or run.failure.type not in ("NameError", "UnboundLocalError"), case.text


def test_no_draw_tells_where_to_look(drawn: list[Case]) -> None:
    for case in drawn:
        assert "#" not in case.text, "a comment"
        assert not any(
            isinstance(node, ast.If | ast.While)
            and isinstance(node.test, ast.Constant)
            and not node.test.value
            for node in ast.walk(ast.parse(case.text))
        ), case.text
        for node in ast.walk(ast.parse(case.text)):
            block = getattr(node, "body", None)
            assert (
                not isinstance(block, list)
                or len(block) < 2
                or not any(isinstance(n, ast.Pass) for n in block)
            )
        assert case.lines
        assert case.lines <= set(range(1, case.text.count("\n") + 1))
        first_line = case.text.index("\n\n\n")
        first_line = case.text[:first_line].count("\n") + 4
        assert min(case.lines) >= first_line, "an import is no mistake"


def test_draws_differ_in_names_and_mistakes(drawn: list[Case]) -> None:
    assert len({case.text for case in drawn}) > DRAWS * 0.9
    assert sum(len(case.mistakes) == 2 for case in drawn) > DRAWS // 20
    assert len({m.id for case in drawn for m in case.mistakes}) > 60


@pytest.mark.parametrize("exercise", SHORT, ids=lambda e: e.name)
def test_other_names_change_nothing(exercise: Exercise) -> None:
    """The solution under other names is still right, and takes nothing else from outside."""
    known, source = cached_reference(exercise.name, SEED), exercise_source(exercise)
    text = disguised(source, other_names((source,), random.Random(1)))
    assert free_names(text) == free_names(source)
    scenarios = [s.name for s in exercise.driver.scenarios][:3]
    assert all(known.reproduces(text, name, known.solution_run(name)) for name in scenarios)


def test_names_in_every_corner() -> None:
    """Parameters, keywords, nested functions, caught exceptions, formatted strings, deleted branches."""
    source = (
        "def f(logits, xb=None):\n"
        "    loss = [loss for loss in logits]\n"
        "    def grad(p):\n"
        "        nonlocal_ = loss\n"
        "        return g(loss=nonlocal_, xb=p)\n"
        "    try:\n"
        "        if False:\n"
        "            loss = 3\n"
        "    except ValueError as total:\n"
        "        raise KeyError(f'{loss} {total}')\n"
        "    return loss, grad\n"
    )
    text = disguised(source, {"loss": "cost", "nonlocal_": "kept"})
    assert free_names(text) == free_names(source) == {"ValueError", "KeyError", "g"}
    assert "g(loss=kept, xb=p)" in text
    assert "{cost} {total}" in text
    assert "pass" in text
    assert not {"logits", "xb", "total", "grad", "p"} & other_names((source,), random.Random(2)).keys()


def test_long_functions_are_not_handed_out_and_classes_are() -> None:
    names = {exercise.name for exercise in SHORT}
    assert {"train_step", "accumulate", "fit", "sam_step"} <= names
    assert names >= set(CLASSES)
    assert not {"train", "train_gpt", "train_accelerate", "train_qa"} & names


@pytest.mark.parametrize(
    "name", ["TrainConfig", *(pytest.param(name, marks=BY_COMMAND) for name in CLASSES[1:])]
)
def test_every_mistake_of_a_class_can_be_handed_out(name: str) -> None:
    """Its fields and methods keep their names, by which they are called from outside."""
    exercise, chance = load_course().exercise(name), random.Random(3)
    for mistake in exercise.mistakes:
        case = draw(exercise, [mistake.id], chance)
        assert case is not None, mistake.id
        definition = ast.parse(case.program).body[0]
        assert isinstance(definition, ast.ClassDef)
        for node in ast.walk(definition):
            # `ValueError = KeyError` is how an edit makes a mistake, and nobody writes it.
            assert not isinstance(node, ast.Name) or node.id != "ValueError" or isinstance(node.ctx, ast.Load)


def test_what_mending_needs_is_imported() -> None:
    """A file that is written over in place needs no `os`; the right one does."""
    case = draw(load_course().exercise("BestCheckpoint"), ["not-atomic"], random.Random(0))
    assert case is not None
    assert "os.replace" not in case.program
    assert "import os\n" in case.text


def test_a_class_has_its_other_name_wherever_code_says_it() -> None:
    source = 'class A(B):\n    """A is good."""\n\n    def f(self):\n        return A(self.A), \'A\'\n'
    told = with_name(source, "A", "A_clinic")
    assert "class A_clinic(B)" in told
    assert '"""A is good."""' in told
    assert "return A_clinic(self.A), 'A'" in told
    assert free_names("@d(1)\nclass A(B):\n    x: C = D\n    def f(self, y=E):\n        return F\n") == set(
        "dBCDEF"
    )


def test_a_question_has_one_right_answer(drawn: list[Case]) -> None:
    """Every choice was measured, and no two say the same."""
    chance = random.Random(5)
    asked = [(case, question(case, chance)) for case in drawn[::6] if len(case.mistakes) == 1]
    told = [(case, one) for case, one in asked if one is not None]
    # 18 of 31: of the first update nothing is asked where another choice is true of it, too.
    assert len(told) > len(asked) / 2
    for case, one in told:
        assert {*one.against, one.answer} == {*one.choices}
        assert all(one.against.values()), case.text
        assert len(one.choices) >= 3
        assert len(set(one.choices.values())) == len(one.choices)
        assert one.answer in one.choices
    pair = next(case for case in drawn if len(case.mistakes) == 2)
    assert question(pair, chance) is None


def test_the_right_symptom_is_the_cases_own() -> None:
    case = draw(load_course().exercise("train_step"), ["missing-step"], random.Random(0))
    assert case is not None
    one = question(case, random.Random(0))
    assert one is not None
    assert (
        one.choices[one.answer]
        == "매개변수가 올바른 코드에서는 5번 움직이는데, 이 코드에서는 한 번도 움직이지 않아요"
    )


def test_what_speaks_against_a_symptom_was_measured() -> None:
    """A wrong symptom was refused without a reason: whether the first or the second update was meant stayed open."""
    case = draw(load_course().exercise("accumulate"), ["missing-zero-grad-after-step"], random.Random(0))
    assert case is not None
    one = question(case, random.Random(1))
    assert one is not None
    assert "첫 번째 업데이트까지는 매개변수가 같고, 두 번째 업데이트에서 달라져요" in one.choices[one.answer]
    found = {text: one.against[letter] for letter, text in one.choices.items() if letter in one.against}
    too_early = found["첫 번째 업데이트를 마쳤을 때 벌써 매개변수가 달라요"]
    assert re.fullmatch(
        r"첫 번째 업데이트를 마쳤을 때의 매개변수는 정답과 같아요\. 예: `\S+`[은는] 둘 다 -?\d\S+\.",
        too_early,
    )
    assert all(re.search(r"\d|번째", told) for told in found.values())


def test_no_choice_beside_the_answer_is_true_too(drawn: list[Case]) -> None:
    """The update and the returned loss both differed, and only one of them counted as right."""
    for case in drawn[1::8]:
        one = question(case, random.Random(4))
        for told in one.against.values() if one is not None else ():
            same = re.search(r": 이 코드 (.+), 정답 (.+)\.$", told)
            assert same is None or same[1] != same[2]
            assert "이 코드 None" not in told or "정답 None" not in told


@pytest.mark.parametrize(
    ("exercise", "mistake", "code", "told"),
    [
        (
            "train_step",
            "loss-times-batch-size",
            "opt.zero_grad()",
            "이 줄은 5번 실행됐고, 정답에서도 5번이에요.",
        ),
        ("train_step", "loss-times-batch-size", "= model(xb)", "이 줄이 처음 만든"),
        ("accumulate", "backward-last-only", "opt.step()", "이 줄은 2번 실행됐고, 정답에서도 2번이에요."),
    ],
)
def test_a_line_that_is_not_to_blame_is_cleared_by_what_it_did(
    exercise: str, mistake: str, code: str, told: str
) -> None:
    case = draw(load_course().exercise(exercise), [mistake], random.Random(2))
    assert case is not None
    line = next(n for n, text in enumerate(case.text.splitlines(), start=1) if code in text)
    assert told in about_line(case, line)
    assert about_line(case, min(case.lines)) == "", "no line that is to blame is cleared"
    assert about_line(case, 1) == "", "imports run before anything is watched"


def test_a_question_can_be_answered_by_thinking(drawn: list[Case]) -> None:
    """Nobody knows without a run which of two exceptions it is, or whether the first batch's loss is the larger."""
    asked = [found for case in drawn[::9] if (found := question(case, random.Random(1))) is not None]
    assert len(asked) > len(drawn[::9]) // 3
    for one in asked:
        right = one.choices[one.answer]
        others = [text for text in one.choices.values() if text != right]
        assert "정답보다" not in " ".join(one.choices.values())
        place, _, exception = right.partition("예외가 나요 (")
        assert not exception or not any(text.startswith(f"{place}예외가 나요 (") for text in others)


def test_choices_do_not_differ_in_numbers_alone(drawn: list[Case]) -> None:
    """「이 코드는 3개」 or 「6개」 follows from sizes that nobody was shown."""
    asked = [found for case in drawn[::6] if (found := question(case, random.Random(2))) is not None]
    for one in asked:
        words = [re.sub(r"\d+", "", text) for text in one.choices.values()]
        assert len(set(words)) == len(words), one.choices


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("그래프 · 올바른 코드는 1개, 이 코드는 3개", "그래프 · 올바른 코드는 1개, 이 코드는 6개", False),
        ("그레이디언트 (첫 번째) · 남음", "그레이디언트 (세 번째) · 남음", False),
        ("첫 번째 호출에서 예외가 나요 (TypeError)", "첫 번째 호출에서 예외가 나요 (KeyError)", False),
        ("두 번째 업데이트부터 달라요", "세 번째 업데이트부터 달라요", False),
        ("첫 번째 업데이트부터 달라요", "두 번째 업데이트부터 달라요", True),
        ("이 코드에서는 8번 움직여요", "이 코드에서는 한 번도 움직이지 않아요", True),
    ],
)
def test_what_can_be_told_apart_without_running_the_code(one: str, other: str, told: bool) -> None:
    assert _differ_in_words(one, other) is told
    assert not _differ_in_words(one, one)


def test_a_single_mistake_comes_without_another() -> None:
    """One way of `accumulate` to update once too often also divides the short window wrongly."""
    accumulate = load_course().exercise("accumulate")
    for seed in range(12):
        case = draw(accumulate, ["flushes-empty-window"], random.Random(seed))
        assert case is not None
        assert "/ accum_steps" not in case.text
