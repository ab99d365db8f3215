"""Say in Korean where the learner's run first differs from the solution's, and give both values.

`compare_runs` finds the place (`Difference`); this module words it (`FirstDifference`). `evidence` calls it for the
card, `practice/symptoms.py` for the choices of the clinic.

Example: `Difference("array", "theta", (2, 5))` becomes `두 번째 업데이트부터 매개변수가 달라요`, with the values of the
parameter element `0.weight[5]` in both runs.

To add words for another array that drivers record under an English name: `array_title`; for another kind of fact:
`fact_text` and `_describe_fact`. Names in Korean are shown as they are.
"""

from collections.abc import Sequence

import numpy as np

from grader.course.feedback import NO_EXCEPTION, UPDATE_COUNT, FirstDifference
from grader.judging.compare_runs import Difference
from grader.observe.play import Scenario
from grader.observe.trace import Fact, Parameter, Run
from grader.observe.values import is_none
from grader.observe.wording import RETURN_TYPES, ordinal, times, with_ordinals

_MAX_FACT_CHARACTERS = 300
"""Maximum number of characters shown of a fact, which in a forged trace may be as long as the whole trace."""
_MAX_BOOLS_LISTED = 8
"""Maximum length of a list of booleans that is written out; of a longer one, only the rarer value's places are told."""
_MAX_ORDINALS = 4
"""Maximum number of such places that are told."""
_READ_FROM_MODEL = ("rates", "gradients")
"""Names of arrays that the driver reads from model and optimizer, so that they say nothing about what was returned.

(`theta` and buffers are read from the model, too, but `theta` is described elsewhere, and buffers are never empty.)
"""


def describe_first_difference(
    scenario: Scenario, first: Difference, run: Run | None, solution: Run, *, type_instead_of_list: str = ""
) -> FirstDifference:
    """Return the first difference between the learner's run and the solution's, as the learner reads it.

    Args:
        scenario: the scenario in which the runs differ.
        first: their first difference.
        run: the learner's run; None if the trace has none.
        solution: the solution's run.
        type_instead_of_list: name of the type that the learner's function returns where the solution's returns a list;
            empty if the solution's returns no list, if both do, or if the type is unknown.
    """
    if run is None:
        return FirstDifference(scenario.title, "실행 결과", "끝까지 실행됨", "결과가 없음")
    if first.kind == "failure":
        return _describe_failure(scenario, run, solution)
    if first.kind == "fact":
        # A fact that only the learner's run has is one such as that data have changed (`ArgumentGuard`).
        expected = solution.facts.get(first.name, "없음")
        return _describe_fact(scenario, first.name, run.facts.get(first.name), expected)
    if first.name == "theta":
        return _describe_parameters(scenario, first, run, solution)
    return _describe_array(scenario, first, run, solution, type_instead_of_list)


def first_wrong_update(first: Difference, run: Run | None, solution: Run) -> int | None:
    """Return the number of the first wrong update, counted from 1; 0 if the parameters differ before any update.

    If all updates that both runs have are equal, return the number of the first update that only one run has. Return
    None if something other than the parameters differs first, or a run has no parameters.
    """
    if first.name != "theta" or run is None:
        return None
    if first.kind == "array":
        return first.index[0]
    if "theta" not in run.arrays or "theta" not in solution.arrays:
        return None
    # Row 0 is the state at the start, so the index of the first missing row is the number of its update.
    return min(len(run.arrays["theta"]), len(solution.arrays["theta"]))


def fact_text(value: Fact, *, as_modes: bool = False) -> str:
    """Return a fact in Korean; of a long one, only the beginning.

    Args:
        value: the fact as it was recorded.
        as_modes: True if its booleans are train modes: then True is told as `학습` (train) and False as `평가` (eval).
    """
    if isinstance(value, bool):
        return _bool_text(value, as_modes)
    if value is None:
        return "None"
    if isinstance(value, list):
        if value and all(isinstance(entry, bool) for entry in value):
            return _bools_text([entry for entry in value if isinstance(entry, bool)], as_modes)
        return f"[{_shorten(', '.join(fact_text(v, as_modes=as_modes) for v in value))}]"
    return number_text(value) if isinstance(value, float) else _shorten(str(value))


def _describe_failure(scenario: Scenario, run: Run, solution: Run) -> FirstDifference:
    """Describe an exception that only one run has, or that is not of the expected class."""
    expected = NO_EXCEPTION if solution.failure is None else solution.failure.type
    got = NO_EXCEPTION if run.failure is None else f"{run.failure.type}: {run.failure.message}"
    call = run.failure.call + 1 if run.failure is not None else 1
    return FirstDifference(scenario.title, f"{ordinal(call)} 호출", expected, got)


def _describe_fact(scenario: Scenario, name: str, got: Fact, expected: Fact) -> FirstDifference:
    """Describe a fact that differs.

    For two lists of equal length, only the first entry that differs is described, and within it likewise; the title
    names the position in the outermost list only. Lists of booleans are described as a whole.
    """
    title = name
    while isinstance(got, list) and isinstance(expected, list) and len(got) == len(expected):
        if all(isinstance(entry, bool) for entry in (*got, *expected)):
            break
        entries = enumerate(zip(got, expected, strict=True))
        index = next((i for i, (got_entry, expected_entry) in entries if got_entry != expected_entry), 0)
        got, expected = got[index], expected[index]
        title = f"{name} ({ordinal(index + 1)})" if title == name else title
    as_modes = "모드" in name  # such facts hold train modes (`Recorder.modes`)
    if not as_modes and isinstance(got, bool) != isinstance(expected, bool):
        # One of them is no answer to a question, such as None: both are told as values.
        got, expected = (str(value) if isinstance(value, bool) else value for value in (got, expected))
    return FirstDifference(
        scenario.title,
        with_ordinals(title),
        fact_text(expected, as_modes=as_modes),
        fact_text(got, as_modes=as_modes),
    )


def _describe_parameters(scenario: Scenario, first: Difference, run: Run, solution: Run) -> FirstDifference:
    """Describe where the parameters first differ, or how many updates are missing or too many."""
    update = first_wrong_update(first, run, solution)
    if first.kind == "shape":
        if "theta" not in run.arrays:  # `Recorder.finish` leaves it out if the number of parameters changed
            return FirstDifference(scenario.title, "매개변수", "크기가 그대로", "크기가 바뀜")
        # The first row is the state at the start.
        expected, got = len(solution.arrays["theta"]) - 1, len(run.arrays["theta"]) - 1
        return FirstDifference(scenario.title, UPDATE_COUNT, times(expected), times(got), update=update)
    row, element = first.index  # `theta` has a row for each state, with all parameters in it
    since = "시작할 때부터" if row == 0 else f"{ordinal(row)} 업데이트부터"
    return FirstDifference(
        scenario.title,
        f"{since} 매개변수가 달라요",
        number_text(solution.arrays["theta"][first.index]),
        number_text(run.arrays["theta"][first.index]),
        update=update,
        tensor=element_name(run.parameters, element),
    )


def element_name(parameters: Sequence[Parameter], element: int) -> str:
    """Return the name of an element of a row of `theta`: that of its parameter, with the element's index in it.

    A row of `theta` is all parameters, flattened, one after the other. With two parameters of 6 and 2 elements, element
    7 is `0.bias[1]`. A forged trace may list too few parameters: then their name is `매개변수` (parameter).
    """
    for parameter in parameters:
        if element < parameter.size:
            return f"{parameter.name}[{element}]"
        element -= parameter.size
    return f"매개변수[{element}]"


def _describe_array(
    scenario: Scenario, first: Difference, run: Run, solution: Run, type_instead_of_list: str
) -> FirstDifference:
    """Describe an array other than `theta` that differs; the arguments are those of `describe_first_difference`."""
    name, title = first.name, array_title(first)
    if first.kind == "shape":
        got = _row_count(run, name)
        if type_instead_of_list and name not in _READ_FROM_MODEL and not np.size(run.arrays.get(name, ())):
            got = f"리스트가 아님 ({type_instead_of_list})"  # a count would be false: there is no list
        return FirstDifference(scenario.title, title, _row_count(solution, name), got)
    expected_value = np.atleast_1d(solution.arrays[name])[first.index]
    got_value = np.atleast_1d(run.arrays[name])[first.index]
    got_text = "None" if is_none(float(got_value)) else number_text(got_value)
    if name == "returned" and np.isnan(got_value):  # the recorder writes NaN for what is no number
        got_text = _text_of_non_number(run.facts.get(RETURN_TYPES))
    return FirstDifference(scenario.title, title, number_text(expected_value), got_text)


def array_title(first: Difference) -> str:
    """Return `FirstDifference.what` for an array that differs; most arrays that drivers name have Korean names."""
    name = first.name
    if name == "returned":
        return f"{ordinal(first.index[0] + 1)} 반환값" if first.index else "반환값의 개수"
    if name.startswith("buffers"):
        return "배치 정규화의 이동 통계량"
    return {"rates": "학습률", "gradients": "그레이디언트"}.get(name, with_ordinals(name))


def _row_count(run: Run, name: str) -> str:
    """Return the number of rows of an array in Korean; `없음` (none) if the run lacks the array."""
    return f"{len(np.atleast_1d(run.arrays[name]))}개" if name in run.arrays else "없음"


def _text_of_non_number(types: Fact) -> str:
    """Return what was returned where the array `returned` has NaN: None, NaN itself, or something that is no number.

    The array does not tell these apart, so the answer comes from the names of all returned types, the fact
    `RETURN_TYPES`. It is `nan` if a float or a Tensor is among them, because that one may have been NaN.
    """
    names = [name for name in types if isinstance(name, str)] if isinstance(types, list) else []
    if "NoneType" in names:
        return "None"
    return "nan" if not names or {"float", "Tensor"} & set(names) else f"숫자가 아님 ({names[0]})"


def number_text(value: float) -> str:
    """Return a number with six significant digits."""
    return f"{float(value):.6g}"


def _shorten(text: str) -> str:
    """Return the text, cut after `_MAX_FACT_CHARACTERS`."""
    return text if len(text) <= _MAX_FACT_CHARACTERS else f"{text[:_MAX_FACT_CHARACTERS]} …"


def _bool_text(value: bool, as_modes: bool) -> str:
    """Return `예` or `아니요` (yes or no), or for a train mode `학습` or `평가` (train or eval)."""
    if as_modes:
        return "학습" if value else "평가"
    return "예" if value else "아니요"


def _bools_text(values: list[bool], as_modes: bool) -> str:
    """Return a list of booleans in Korean.

    If all are equal: `모두 학습` (all train). Short lists: `평가, 학습, 평가`. Longer ones than `_MAX_BOOLS_LISTED`:
    `평가 (9개 가운데 두 번째만 학습)`, eval, with only the second of 9 in train mode. Several places are all told in
    digits: `예 (13개 가운데 2, 13번째만 아니요)`.
    """
    if len(set(values)) == 1:
        return f"모두 {_bool_text(values[0], as_modes)}"
    if len(values) <= _MAX_BOOLS_LISTED:
        return ", ".join(_bool_text(value, as_modes) for value in values)
    rarer_value = values.count(True) * 2 <= len(values)
    places = [index + 1 for index, value in enumerate(values) if value == rarer_value]
    listed = ordinal(places[0]) if len(places) == 1 else f"{', '.join(map(str, places[:_MAX_ORDINALS]))}번째"
    listed += f" 등 {len(places)}개" if len(places) > _MAX_ORDINALS else ""
    usual_text, rarer_text = _bool_text(not rarer_value, as_modes), _bool_text(rarer_value, as_modes)
    return f"{usual_text} ({len(values)}개 가운데 {listed}만 {rarer_text})"
