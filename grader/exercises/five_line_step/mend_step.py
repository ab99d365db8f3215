"""Driver of `mend_step`, an update on a mini-batch of which learners get four lines and add the missing fifth.

Promises of the exercise, and the scenarios that check them:
    one update on the mini-batch, after which its gradients no longer count: `sgd`, `adamw`

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from grader.exercises.five_line_step._step_case import step_case, step_problem
from grader.exercises.fixtures.classifiers import adamw, scale_rates
from grader.exercises.fixtures.usual import Case
from grader.observe.play import Driver, Stage

driver = Driver("mend_step")


def _step_on_each_batch(case: Case) -> None:
    """Make one call for each batch, with falling learning rates, and record the updates."""
    case.watch()
    for batch in case.data:
        case.call(*batch)
        scale_rates(case.opt, 0.8)


@driver.scenario("sgd", "SGD", problem=step_problem)
def _sgd(stage: Stage) -> None:
    """Make one call for each batch with SGD, with falling learning rates.

    A program without the missing line moves nothing, nor does one that has it before `backward` or after `zero_grad`.
    """
    _step_on_each_batch(step_case(stage, "mend_step"))


@driver.scenario("adamw", "AdamW", check="sgd")
def _adamw(stage: Stage) -> None:
    """Do the same with AdamW, whose update a program does not make that moves by hand (`p -= lr * p.grad`)."""
    _step_on_each_batch(step_case(stage, "mend_step", adamw))
