"""Feedback as a class really gets it, for the tests of `grader.report`: every status, hostile students."""

from dataclasses import replace
from functools import partial

from grader.course.course import Course, Exercise, Lesson
from grader.course.feedback import (
    CheckResult,
    ClassResult,
    Diagnosis,
    Feedback,
    FirstDifference,
    Moment,
    NamedMistake,
    Recipe,
    SubmissionResult,
)
from grader.observe.play import Driver

NASTY = '<script>alert("x")</script>&\x1b[31m\x1b[2J\u202e\ud800'

MISSING_ZERO_GRAD = NamedMistake(
    ids=("missing-zero-grad",),
    titles=("`opt.zero_grad()`를 부르지 않았어요",),
    explain="두 번째 스텝부터 업데이트가 커져요. `backward()`는 `.grad`에 더하기만 해서, "
    "k번째 스텝은 g₁부터 gₖ까지 모두 더한 값으로 움직여요.",
    hint="스텝을 시작할 때 `p.grad`에 무엇이 남아 있는지 출력해 보세요.",
    line=7,
    cell=3,
    source_line="opt.step()  # 한 걸음",
)
NO_DIVISION = NamedMistake(
    ids=("no-division",),
    titles=("손실을 마이크로 배치 수로 나누지 않았어요",),
    explain="업데이트가 구간 길이만큼 커져요. 그레이디언트를 네 번 더했는데 평균을 내지 않았어요.",
    hint="네 번 더한 그레이디언트는 큰 배치 하나의 그레이디언트의 몇 배일까요?",
)
DROPS_LEFTOVER = NamedMistake(
    ids=("drops-leftover",),
    titles=("짧은 마지막 구간을 버렸어요",),
    explain="마이크로 배치가 남아도 업데이트하지 않고 끝나요.",
    hint="반복문이 끝난 다음 무엇이 남아 있나요?",
)
CLIP = NamedMistake(
    ids=("clip-before-backward", "no-clip", "clip-after-step"),
    titles=("`backward()` 전에 잘라요", "자르지 않아요", "`step()` 다음에 잘라요"),
    explain="업데이트가 잘리지 않은 그레이디언트로 일어나요.",
    hint="`step()`이 `.grad`를 읽는 순간, 그 값은 이미 잘려 있나요?",
)
STEP_EARLY = NamedMistake(
    ids=("step-before-backward",),
    titles=("`opt.step()`이 `loss.backward()`보다 먼저 나와요",),
    explain="매개변수가 움직이지 않아요.",
    hint="`step()`은 무엇을 읽나요?",
)


def checks(*passed: bool) -> tuple[CheckResult, ...]:
    titles = ("SGD 궤적", "AdamW 궤적", "반환값")
    return tuple(
        CheckResult(t, 2.0 if i == 0 else 1.0, p) for i, (t, p) in enumerate(zip(titles, passed, strict=True))
    )


def named_mistake() -> Feedback:
    return Feedback(
        "01",
        "train_step",
        "한 스텝",
        "failed",
        checks(False, False, True),
        message="`opt.zero_grad()`를 부르지 않았어요",
        diagnosis=Diagnosis(
            (MISSING_ZERO_GRAD,),
            FirstDifference(
                "SGD", "두 번째 업데이트 뒤의 0.weight[3]", "-0.217431", "-0.351882", 2, "0.weight"
            ),
            yours=(Moment("forward", 4, 2), Moment("backward", 6), Moment("step", 7)),
            right=(
                Moment("zero_grad", None, None, True),
                Moment("forward", None, 2),
                Moment("backward", None),
                Moment("step", None),
            ),
            recipe=Recipe(2, (1, 2), (1.0, 1.0), (0.0, 1.0), 3e-16),
        ),
        line=7,
        cell=3,
        source_line="opt.step()  # 한 걸음",
        file="lesson01.ipynb",
        notes=("이 함수는 노트북 변수 `model2`에 기대고 있어요. 인자로 받아 주세요.",),
        seconds=0.051,
    )


def pair() -> Feedback:
    yours = []
    for batch in (1, 2, 3, 4):
        yours += [Moment("forward", 9, batch), Moment("backward", 10)]
    right = [Moment("zero_grad", None)]
    for batch in (1, 2, 3, 4):
        right += [Moment("forward", None, batch), Moment("backward", None)]
    return Feedback(
        "01",
        "accumulate",
        "그레이디언트 누적",
        "failed",
        checks(False, False, True),
        message="손실을 마이크로 배치 수로 나누지 않았어요 그리고 짧은 마지막 구간을 버렸어요",
        diagnosis=Diagnosis(
            (NO_DIVISION, DROPS_LEFTOVER),
            FirstDifference("SGD", "첫 번째 업데이트 뒤의 0.bias[0]", "0.0123", "0.0492", 1, "0.bias"),
            yours=(Moment("zero_grad", 6), *yours, Moment("step", 12), Moment("zero_grad", 13)),
            right=(*right, Moment("clip", None, None, True), Moment("step", None), Moment("zero_grad", None)),
            recipe=Recipe(1, (1, 2, 3, 4), (1.0, 1.0, 1.0, 1.0), (0.25, 0.25, 0.25, 0.25), 0.0),
        ),
        line=10,
        cell=5,
        source_line="    loss_fn(model(xb), yb).backward()",
        file="lesson01.ipynb",
        seconds=0.2,
    )


def joined() -> Feedback:
    same = (Moment("zero_grad", 3), Moment("forward", 4, 1), Moment("backward", 5), Moment("step", 6))
    return Feedback(
        "01",
        "train_step_extras",
        "클리핑과 스케줄러",
        "failed",
        checks(True, False, True),
        message="「`backward()` 전에 잘라요」 또는 「자르지 않아요」 또는 「`step()` 다음에 잘라요」",
        diagnosis=Diagnosis(
            (CLIP,),
            FirstDifference("AdamW", "첫 번째 업데이트 뒤의 2.weight[0]", "0.1", "0.2"),
            same,
            tuple(replace(m, line=None) for m in same),
            Recipe(1, (1,), (1.0,), (0.314,), 0.0),
        ),
        line=5,
        source_line="loss.backward()",
        file="kim.py",
        seconds=0.1,
    )


def unknown() -> Feedback:
    return Feedback(
        "01",
        "fit",
        "에폭 루프",
        "failed",
        checks(False, False, True),
        message="SGD · 세 번째 업데이트 뒤의 0.weight[0] · 내 코드: 0.5 · 정답: 0.25",
        diagnosis=Diagnosis(
            (),
            FirstDifference("SGD", "세 번째 업데이트 뒤의 0.weight[0]", "0.25", "0.5", 3, "0.weight"),
            yours=(
                Moment("zero_grad", 5),
                Moment("backward", 7, None, True),
                Moment("forward", 6, 3),
                Moment("step", 8),
            ),
            right=(
                Moment("zero_grad", None),
                Moment("forward", None, 3),
                Moment("backward", None, None, True),
                Moment("step", None),
            ),
            recipe=Recipe(3, (1, 2, 3), (0.5, -0.5, 1.0), (0.0, 0.0, 1.0), 0.12),
        ),
        line=7,
        cell=9,
        source_line="(loss - 0.5 * prev_loss).backward()",
        file="lesson01.ipynb",
        seconds=0.3,
    )


def passed() -> Feedback:
    return Feedback(
        "01", "evaluate", "평가", "passed", checks(True, True, True), message="통과했어요.", seconds=0.02
    )


def raised() -> Feedback:
    return Feedback(
        "01",
        "sgd_update",
        "손으로 하는 SGD",
        "error",
        checks(False, False, False),
        message="코드에서 예외가 났어요. TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'",
        line=3,
        cell=11,
        source_line="        p -= lr * p.grad",
        file="lesson01.ipynb",
        error="TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'",
        seconds=0.01,
    )


def not_begun() -> Feedback:
    return replace(
        raised(),
        exercise="zero_gradients",
        title="손으로 지우기",
        error="NotImplementedError: ",
        message="아직 시작하지 않았어요. 함수 안을 채운 다음 다시 확인해 보세요.",
        begun=False,
        source_line="raise NotImplementedError",
    )


COULD_NOT_RUN = {
    "timeout": "제한 시간 안에 끝나지 않았어요. 끝나지 않는 반복이 있는지 확인해 보세요.",
    "memory": "메모리를 너무 많이 썼어요. 텐서를 쌓아 두는 곳이 있는지 확인해 보세요.",
    "crashed": "실행하던 프로세스가 강제로 끝났어요. 프로세스를 끝내는 코드가 있는지 확인해 보세요.",
    "output": "출력이 너무 많아요. 반복문 안의 `print`를 지워 주세요.",
    "missing": "제출물에 이 함수가 없어요.",
    "unreadable": "lesson01.ipynb: JSON이 아니에요.",
}


def stopped(status: str, exercise: str = "autograd_nodes", title: str = "그래프 걷기") -> Feedback:
    return Feedback(
        "01",
        exercise,
        title,
        status,
        checks(False, False, False),
        message=COULD_NOT_RUN[status],
        seconds=1.5,  # type: ignore[arg-type]
    )


def hostile() -> Feedback:
    """Every field a student can write, filled with markup, terminal escapes and a lone surrogate."""
    return replace(
        named_mistake(),
        status="error",
        source_line=NASTY,
        file=NASTY,
        error=f"ValueError: {NASTY}",
        message=NASTY,
        notes=(NASTY,),
        diagnosis=replace(
            named_mistake().diagnosis,
            first_difference=FirstDifference("SGD", NASTY, NASTY, NASTY),
            mistakes=(),
        ),
    )


def every_kind() -> dict[str, Feedback]:
    made = {
        "named": named_mistake(),
        "pair": pair(),
        "joined": joined(),
        "unknown": unknown(),
        "passed": passed(),
        "raised": raised(),
        "raised and named": replace(raised(), diagnosis=Diagnosis((STEP_EARLY,))),
        "not begun": not_begun(),
        "hostile": hostile(),
    }
    return {**made, **{status: stopped(status) for status in COULD_NOT_RUN}}


EXERCISES = {
    "train_step": "한 스텝",
    "train_step_extras": "클리핑과 스케줄러",
    "accumulate": "그레이디언트 누적",
    "fit": "에폭 루프",
    "evaluate": "평가",
    "sgd_update": "손으로 하는 SGD",
    "autograd_nodes": "그래프 걷기",
}


def passed_all(student: str) -> SubmissionResult:
    return SubmissionResult(
        student, tuple(replace(passed(), exercise=e, title=t) for e, t in EXERCISES.items())
    )


def typical(student: str) -> SubmissionResult:
    return SubmissionResult(
        student,
        (named_mistake(), joined(), pair(), unknown(), passed(), raised(), stopped("timeout")),
        notes=("`lesson01_final.ipynb`와 `lesson01.ipynb` 두 파일이 있어요. 마지막 것을 채점했어요.",),
        digest="0123456789abcdef",
    )


def all_of(student: str, status: str) -> SubmissionResult:
    return SubmissionResult(student, tuple(stopped(status, e, t) for e, t in EXERCISES.items()))


def small_class() -> ClassResult:
    almost = passed_all("이서준")
    almost = replace(almost, feedbacks=(named_mistake(), *almost.feedbacks[1:]))
    nasty = replace(passed_all(NASTY), feedbacks=(hostile(), *passed_all("x").feedbacks[1:]), notes=(NASTY,))
    students = (
        typical("김하윤"),
        almost,
        passed_all("박지우"),
        all_of("정도윤", "missing"),
        all_of("최서연", "unreadable"),
        nasty,
        passed_all("=HYPERLINK(1)"),
        all_of("a" * 200, "crashed"),
        typical("s09"),
    )
    return ClassResult(7, "cpu", "bwrap", students)


def large_class(number: int) -> ClassResult:
    """Students who are passed, wrong in all ways, or absent; of lesson 02 nobody began anything."""
    kinds = (typical, passed_all, _almost, lambda name: all_of(name, "missing"))
    untouched = tuple(
        replace(stopped("missing", name, title), lesson="02")
        for name, title in (("amp_step", "혼합 정밀도 한 스텝"), ("resume", "이어서 학습하기"))
    )
    made = [
        kinds[i % 4](f"{20260000 + i}_{'김이박최정'[i % 5]}{'하윤서준지우'[i % 6]}") for i in range(number)
    ]
    students = tuple(replace(s, feedbacks=(*s.feedbacks, *untouched)) for s in made)
    return ClassResult(7, "cpu", "bwrap", students)


def _almost(student: str) -> SubmissionResult:
    return SubmissionResult(student, (named_mistake(), *passed_all(student).feedbacks[1:]))


def course() -> Course:
    """A course of one lesson whose drivers never run."""
    exercises = tuple(
        Exercise(
            name=n,
            lesson="01",
            title=t,
            checks=(),
            clues=(),
            mistakes=(),
            load_driver=partial(Driver, n),
            because="",
        )
        for n, t in EXERCISES.items()
    )
    lesson = Lesson(
        id="01",
        name="01_five_line_step",
        module="five_line_step",
        title="한 train step",
        minutes=18,
        exercises=exercises,
    )
    return Course("한 스텝", "학습 루프를 한 스텝씩", (lesson,))
