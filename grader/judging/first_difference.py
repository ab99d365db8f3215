"""Put the first difference into words for the learner: where it is, what was expected, and what was there instead."""

from collections.abc import Sequence

import numpy as np

from grader.course.feedback import FirstDifference
from grader.judging.compare_runs import Difference
from grader.observe.play import Scenario
from grader.observe.trace import Fact, Parameter, Run
from grader.observe.wording import ordinal, with_ordinals

_LONGEST_SHOWN = 300
"""Maximum number of characters of a fact shown."""

UPDATES = "업데이트 횟수"
"""Korean for the number of updates, as the subject of a first difference."""


def describe_first_difference(
    scenario: Scenario, found: Difference, run: Run | None, solution: Run
) -> FirstDifference:
    """Return the difference as a learner reads it.

    Args:
        scenario: the scenario in which the runs differ.
        found: their first difference.
        run: the learner's run; None if the scenario has none.
        solution: the solution's run.
    """
    if run is None:
        return FirstDifference(scenario.title, "실행 결과", "끝까지 실행됨", "결과가 없음")
    if found.kind == "failure":
        return _failed_differently(scenario, run, solution)
    if found.kind == "fact":
        return _fact_differs(scenario, found.name, run.facts.get(found.name), solution.facts.get(found.name))
    if found.name == "theta":
        return _parameters_differ(scenario, found, run, solution)
    what = _array_title(found)
    if found.kind == "shape":
        return FirstDifference(scenario.title, what, _shape(solution, found.name), _shape(run, found.name))
    expected_value = np.atleast_1d(solution.arrays[found.name])[found.index]
    got_value = np.atleast_1d(run.arrays[found.name])[found.index]
    got_text = _number(got_value)
    if found.name == "returned" and np.isnan(got_value):
        got_text = _no_number(run.facts.get("반환 타입"))
    return FirstDifference(scenario.title, what, _number(expected_value), got_text)


def update_of(found: Difference, run: Run | None, solution: Run) -> int | None:
    """Return the number of the first wrong update, from 1; None if something other than the parameters differs.

    If the number of updates differs, it is the first update that only one run has. 0: the parameters differ from the
    start.
    """
    if found.name != "theta" or run is None:
        return None
    if found.kind == "array":
        return found.index[0]
    if "theta" not in run.arrays or "theta" not in solution.arrays:
        return None
    return min(len(run.arrays["theta"]), len(solution.arrays["theta"]))


def _fact_differs(scenario: Scenario, name: str, got: Fact, expected: Fact) -> FirstDifference:
    """Describe a fact that differs; for lists of equal length, only the first entry that differs."""
    what = name
    while isinstance(got, list) and isinstance(expected, list) and len(got) == len(expected):
        if all(isinstance(v, bool) for v in (*got, *expected)):
            break  # shown as a whole
        place = next((i for i, pair in enumerate(zip(got, expected, strict=True)) if pair[0] != pair[1]), 0)
        got, expected = got[place], expected[place]
        what = f"{name} ({ordinal(place + 1)})" if what == name else what
    modes = "모드" in name
    return FirstDifference(
        scenario.title, with_ordinals(what), show(expected, modes=modes), show(got, modes=modes)
    )


def show(value: Fact, *, modes: bool = False) -> str:
    """Return a fact in Korean; with `modes`, True is train mode and False is eval mode."""
    if isinstance(value, bool):
        return _truth(value, modes)
    if value is None:
        return "None"
    if isinstance(value, list):
        if value and all(isinstance(v, bool) for v in value):
            return _truths([v for v in value if isinstance(v, bool)], modes)
        return f"[{_cut(', '.join(show(v, modes=modes) for v in value))}]"
    return _number(value) if isinstance(value, float) else _cut(str(value))


def _cut(text: str) -> str:
    """Shorten a long text: a forged fact may be as long as a whole trace."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]} …"


def _truth(value: bool, modes: bool) -> str:
    if modes:
        return "학습" if value else "평가"
    return "예" if value else "아니요"


def _truths(values: list[bool], modes: bool) -> str:
    """Describe a list of booleans: `모두 학습`, or which are unlike the others, `평가 (3개 가운데 두 번째만 학습)`."""
    if len(set(values)) == 1:
        return f"모두 {_truth(values[0], modes)}"
    rare = sum(values) * 2 <= len(values)
    places = [ordinal(i + 1) for i, value in enumerate(values) if value == rare]
    named = ", ".join(places[:4]) + (" …" if len(places) > 4 else "")
    return f"{_truth(not rare, modes)} ({len(values)}개 가운데 {named}만 {_truth(rare, modes)})"


def _failed_differently(scenario: Scenario, run: Run, solution: Run) -> FirstDifference:
    expected = "예외 없이 끝남" if solution.failure is None else solution.failure.type
    got = "예외 없이 끝남" if run.failure is None else f"{run.failure.type}: {run.failure.message}"
    call = run.failure.call + 1 if run.failure is not None else 1
    return FirstDifference(scenario.title, f"{ordinal(call)} 호출", expected, got)


def _parameters_differ(scenario: Scenario, found: Difference, run: Run, solution: Run) -> FirstDifference:
    update = update_of(found, run, solution)
    if found.kind == "shape":
        if "theta" not in run.arrays:
            return FirstDifference(scenario.title, "매개변수", "크기가 그대로", "크기가 바뀜")
        expected, got = len(solution.arrays["theta"]) - 1, len(run.arrays["theta"]) - 1
        return FirstDifference(scenario.title, UPDATES, f"{expected}번", f"{got}번", update=update)
    row, element = found.index
    tensor, position = _locate(run.parameters, element)
    moment = "시작할 때부터" if row == 0 else f"{ordinal(row)} 업데이트부터"
    return FirstDifference(
        scenario.title,
        f"{moment} 매개변수가 달라요",
        _number(solution.arrays["theta"][found.index]),
        _number(run.arrays["theta"][found.index]),
        update=update,
        tensor=f"{tensor}[{position}]",
    )


def _locate(parameters: Sequence[Parameter], element: int) -> tuple[str, int]:
    """Return the name of the parameter that holds an element of a row of `theta`, and the element's index in it."""
    for parameter in parameters:
        if element < parameter.size:
            return parameter.name, element
        element -= parameter.size
    return "매개변수", element


def _array_title(found: Difference) -> str:
    name = found.name
    if name == "returned":
        return f"{ordinal(found.index[0] + 1)} 반환값" if found.index else "반환값의 개수"
    if name.startswith("buffers"):
        return "배치 정규화의 이동 통계량"
    return {"rates": "학습률", "gradients": "그레이디언트"}.get(name, with_ordinals(name))


def _shape(run: Run, name: str) -> str:
    """Return the number of rows of an array in Korean."""
    return f"{len(np.atleast_1d(run.arrays[name]))}개" if name in run.arrays else "없음"


def _number(value: float) -> str:
    return f"{float(value):.6g}"


def _no_number(types: Fact) -> str:
    """Describe a value returned instead of a number, by the recorded types of what was returned."""
    named = [name for name in types if isinstance(name, str)] if isinstance(types, list) else []
    if "NoneType" in named:
        return "None"
    return "nan" if not named or {"float", "Tensor"} & set(named) else f"숫자가 아님 ({named[0]})"
