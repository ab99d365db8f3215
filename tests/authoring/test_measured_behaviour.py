"""What `grader build --tables` refuses: a mistake that is none, and a solution that its own driver breaks."""

from dataclasses import replace
from typing import Any

import pytest

from grader.authoring.measured_behaviour import measure
from grader.course.course import CourseError
from grader.course.reading import load_course
from grader.observe.play import Driver, Stage

EXERCISE = load_course().exercise("zero_gradients")


def test_a_mistake_that_changes_nothing_is_refused() -> None:
    first = EXERCISE.mistakes[0]
    ((old, _),) = first.edits
    idle: Any = {
        field: getattr(first, field)
        for field in first.__struct_fields__
        if field not in {"id", "edits", "variants"}
    }
    same = type(first)(**idle, id="no-mistake", edits=((old, old + "  # the same"),))
    with pytest.raises(CourseError, match="정답과 똑같이 움직이는 실수가 있어요: no-mistake"):
        measure(replace(EXERCISE, mistakes=(first, same)))


def test_a_driver_that_fails_on_the_solution_is_told() -> None:
    driver = Driver("zero_gradients")

    @driver.scenario("broken", "고장 난 시나리오")
    def _broken(stage: Stage) -> None:
        raise TypeError("missing 1 required argument")

    with pytest.raises(CourseError, match=r"정답이 시나리오 'broken'에서 예외를 내요.*missing 1 required"):
        measure(replace(EXERCISE, load_driver=lambda: driver))
