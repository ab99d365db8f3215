"""Driver of `baseline_loss`, which returns the smallest mean loss of a model that does not see its inputs.

Promises of the exercise, and the scenarios that check them:
    squared errors for real targets: `real`, `offset`, `single`; of either precision: `float32`
    cross entropy for class numbers: `classes`; classes that never occur: `gaps`
    targets of -100 are not counted: `ignored`
    a float is returned, and nothing printed: `types`, `quiet`
    the targets stay as they are: every scenario, as the recorder notices changes of a function's arguments itself

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from grader.exercises.fixtures.returned import FLOAT32_ATOL, type_witness
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number, type_name
from grader.observe.wording import yes_or_no

driver = Driver("baseline_loss")

_IGNORED = -100
"""The class number of targets that do not count."""


def _record_losses(stage: Stage, title: str, targets: Iterable[Tensor]) -> None:
    """Call the learner's function with each tensor, and record what it returns as one array."""
    student = stage.student("baseline_loss")
    stage.recorder.array(title, [as_number(stage.recorder.call(student, one)) for one in targets])


def _draw_real(env: Env, salt: str, length: int) -> Tensor:
    """Return normal random targets in float64, with mean 1.5 and standard deviation 2; shape (length,)."""
    return 1.5 + 2 * torch.randn(length, generator=env.generator(salt), dtype=torch.float64)


def _draw_classes(env: Env, counts: Iterable[int]) -> Tensor:
    """Return class numbers in a random order, class 0 as often as the first of `counts` says, and so on."""
    numbers = [number for number, count in enumerate(counts) for _ in range(count)]
    return torch.tensor(numbers)[torch.randperm(len(numbers), generator=env.generator("order"))]


@driver.scenario("real", "실수인 정답", atol=FLOAT32_ATOL)
def _real_targets(stage: Stage) -> None:
    """Give few targets and many.

    A wrong program divides by the number of targets less one, which shows where there are few, or returns a root or a
    sum.
    """
    draw = stage.env.draw("lengths")
    lengths = (draw.whole(3, 5), draw.whole(40, 60))
    _record_losses(
        stage, "제곱 오차", (_draw_real(stage.env, f"real {length}", length) for length in lengths)
    )


@driver.scenario("offset", "평균이 먼 정답", check="real", atol=FLOAT32_ATOL)
def _far_from_zero(stage: Stage) -> None:
    """Give targets whose mean is far from 0.

    A wrong program predicts 0, and returns the mean of the squares.
    """
    _record_losses(
        stage, "제곱 오차", [_draw_real(stage.env, "far", 20) + stage.env.draw("offset").real(4.0, 9.0)]
    )


@driver.scenario("single", "정답 하나", check="real", atol=FLOAT32_ATOL)
def _one_target(stage: Stage) -> None:
    """Give a single target, which a model without inputs hits, and then two.

    A wrong program divides by the number of targets less one, and returns NaN. One that always returns 0 shows with two
    targets.
    """
    _record_losses(stage, "제곱 오차", [_draw_real(stage.env, "one", 1), _draw_real(stage.env, "two", 2)])


@driver.scenario("float32", "float32인 정답", check="real", atol=FLOAT32_ATOL)
def _float32(stage: Stage) -> None:
    """Give targets in float32. A wrong program knows real numbers by one dtype, and takes these for classes."""
    _record_losses(stage, "제곱 오차", [_draw_real(stage.env, "float32", 12).float()])


@driver.scenario("classes", "클래스의 번호", atol=FLOAT32_ATOL)
def _class_numbers(stage: Stage) -> None:
    """Give class numbers all of which occur, but not equally often.

    A wrong program takes all classes to be equally frequent, or another logarithm.
    """
    draw = stage.env.draw("counts")
    counts = [draw.whole(1, 3), draw.whole(4, 8), draw.whole(9, 20), draw.whole(2, 30)]
    _record_losses(
        stage, "교차 엔트로피", [_draw_classes(stage.env, counts), _draw_classes(stage.env, counts[:2])]
    )


@driver.scenario("gaps", "나오지 않는 번호", check="classes", atol=FLOAT32_ATOL)
def _missing_classes(stage: Stage) -> None:
    """Give class numbers some of which never occur.

    A wrong program takes the logarithm of 0, and returns NaN.
    """
    draw = stage.env.draw("gaps")
    _record_losses(
        stage, "교차 엔트로피", [_draw_classes(stage.env, [0, draw.whole(2, 6), 0, 0, draw.whole(7, 12)])]
    )


@driver.scenario("ignored", "세지 않는 정답", atol=FLOAT32_ATOL)
def _ignored_targets(stage: Stage) -> None:
    """Give class numbers with -100 among them.

    A wrong program counts them as a class of their own, or among those that it divides by.
    """
    draw = stage.env.draw("ignored")
    targets = _draw_classes(stage.env, [draw.whole(2, 5), draw.whole(6, 11), draw.whole(3, 9)])
    holes = torch.full((draw.whole(4, 9),), _IGNORED)
    _record_losses(stage, "교차 엔트로피", [torch.cat([holes, targets]), torch.cat([targets[:-1], holes])])


@driver.scenario("types", "반환 타입")
def _types(stage: Stage) -> None:
    """Record the types of what is returned for either kind of targets.

    A wrong program returns a tensor. The witness is a number from the seed if the values for the two tensors of real
    targets differ and are positive, else 0. So it is 0 for a program that returns a constant, and for one that returns
    a target: these are negative.
    """
    student = stage.student("baseline_loss")
    negative = [-_draw_real(stage.env, salt, length).abs() for salt, length in (("types", 7), ("others", 9))]
    targets = (*negative, _draw_classes(stage.env, [2, 3]))
    values = [stage.recorder.call(student, one) for one in targets]
    first, second = (as_number(value) for value in values[:2])
    has_looked = 0 < first < math.inf and 0 < second < math.inf and first != second
    seeded = float(targets[0].sum()) if has_looked else 0.0
    stage.recorder.claim(
        "반환 타입", [type_name(value) for value in values], type_witness(float, values, seeded)
    )


@driver.scenario("quiet", "출력", check="types")
def _quiet(stage: Stage) -> None:
    """Record whether a call prints anything."""
    stage.recorder.call(stage.student("baseline_loss"), _draw_real(stage.env, "quiet", 5))
    stage.recorder.fact("print를 부름", yes_or_no(stage.recorder.print_count > 0))
