"""Ask a schedule for tiny learning rates, where a program that rounds to decimal places shows.

For the drivers `lr_at` and `wsd_at`, each of which asks for tiny rates in its own scenarios.
"""

from collections.abc import Mapping, Sequence

from grader.observe.play import Stage
from grader.observe.values import as_number

_SCALE = 1e-20
"""Far below the decimal place to which anybody rounds, and far above the smallest float32, about 1e-38."""


def record_tiny_rates(
    stage: Stage,
    title: str,
    exercise: str,
    steps: Sequence[int],
    rates: Mapping[str, float],
    **other_arguments: object,
) -> None:
    """Record a schedule made of tiny rates, each returned rate divided by the largest one of the arguments.

    For example, with the arguments `{"peak_lr": 0.8, "min_lr": 0.1}` the learner's function is given 8e-21 and 1e-21.
    If it returns 4e-21 for a step, 0.5 is recorded. These ratios are the same as for ordinary rates, so a schedule that
    computes in float32 passes; one that rounds gives 0.

    Args:
        stage: the scenario's stage.
        title: Korean noun phrase for the rates of these steps.
        exercise: name of the exercise, and so of the learner's function.
        steps: values of its first argument; one call is made for each.
        rates: its arguments that are learning rates, of ordinary size.
        other_arguments: its other arguments.
    """
    tiny_rates = {argument: _SCALE * rate for argument, rate in rates.items()}
    student = stage.student(exercise)
    returned = [stage.recorder.call(student, step, **tiny_rates, **other_arguments) for step in steps]
    ratios = [as_number(rate) / max(tiny_rates.values()) for rate in returned]
    stage.recorder.array(f"학습률이 아주 작을 때 {title}을 정점으로 나눈 것", ratios)
