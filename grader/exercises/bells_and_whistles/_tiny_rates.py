"""Ask a schedule for tiny learning rates, at which rounding to decimal places shows."""

from collections.abc import Mapping, Sequence

from grader.observe.play import Stage
from grader.observe.values import as_number

_SCALE = 1e-20
"""Far below the place to which anybody rounds, and far above the smallest float32, about 1e-38."""


def record_tiny_rates(
    stage: Stage,
    what: str,
    schedule: str,
    steps: Sequence[int],
    rates: Mapping[str, float],
    **other_arguments: object,
) -> None:
    """Record the schedule at `steps` for tiny rates, each as a share of the largest one.

    The shares are those of ordinary rates, so a schedule that computes in float32 passes.

    Args:
        stage: the scenario's stage.
        what: Korean name of these steps' rates.
        schedule: name of the student's function.
        steps: its first argument, one after another.
        rates: ordinary rates by argument.
        other_arguments: its other arguments.
    """
    tiny = {argument: _SCALE * rate for argument, rate in rates.items()}
    function = stage.student(schedule)
    returned = [stage.recorder.call(function, step, **tiny, **other_arguments) for step in steps]
    shares = [as_number(rate) / max(tiny.values()) for rate in returned]
    stage.recorder.array(f"학습률이 아주 작을 때 {what}을 정점으로 나눈 것", shares)
