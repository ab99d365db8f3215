"""Driver of `sam_step_local`, in which every rank climbs by its own gradient.

Promises of the exercise, and the scenarios that check them:
    the first pass is not averaged, the second is: `sgd`, `momentum`, `three-ranks`, `passes`
    gradients from before are not mixed in: `before`
    the loss at w of this rank is returned, a float: `returns`, `types`

The contract of all exercises adds: nothing is printed (`quiet`).
"""

from typing import Any

from grader.exercises.fixtures.classifiers import MakeOptimizer, loss_function, momentum_sgd, sgd
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.sam import FixtureSAM
from grader.exercises.fixtures.usual import Case, add_usual
from grader.exercises.several_processes._cases import RankCase, equal_batches, rank_case
from grader.observe.play import Driver, Stage

driver = Driver("sam_step_local")


def _case_of(
    stage: Stage, *, ranks: int = 2, make_optimizer: MakeOptimizer = sgd, count: int = 2
) -> RankCase:
    """Return a case with a SAM on every rank, and `count` batches of each rank's own."""
    return rank_case(
        stage,
        "sam_step_local",
        equal_batches(count, 6),
        ranks=ranks,
        make_optimizer=lambda model: FixtureSAM(make_optimizer(model), stage.recorder),
        loss_fn=loss_function(stage.env),
        passes_one_batch=True,
    )


def _case(stage: Stage) -> Case:
    """Return a case on two ranks, for the usual scenarios."""
    return _case_of(stage)


def _call(case: Case, data: Any) -> Any:
    """Call the learner's function with the first batch of `data`."""
    return case.call(data[:1])


def _update(stage: Stage, make_optimizer: MakeOptimizer, *, ranks: int = 2) -> None:
    """Make two calls, with another batch each, and record the weights of every rank."""
    case = _case_of(stage, ranks=ranks, make_optimizer=make_optimizer)
    for batch in list(case.data):
        case.call([batch])
    case.record_weights()


@driver.scenario("sgd", "SGD 위의 SAM", check="update")
def _sgd(stage: Stage) -> None:
    """Update twice. A wrong program averages the first pass too, or never averages."""
    _update(stage, sgd)


@driver.scenario("momentum", "모멘텀 위의 SAM", check="update")
def _momentum(stage: Stage) -> None:
    """Update twice with momentum. A wrong program mixes the first pass's gradient into the second's."""
    _update(stage, momentum_sgd)


@driver.scenario("three-ranks", "rank 세 개", check="update")
def _three_ranks(stage: Stage) -> None:
    """Update on three ranks. A wrong program divides by 2, whatever the number of ranks."""
    _update(stage, sgd, ranks=3)


@driver.scenario("passes", "합친 패스와 합치지 않은 패스", check="passes")
def _passes(stage: Stage) -> None:
    """Count how often the gradients are averaged. A wrong program wraps only `backward` in `no_sync`."""
    case = _case_of(stage, count=stage.env.draw("calls").whole(2, 4))
    for batch in list(case.data):
        case.call([batch])
    case.record_averages()


add_usual(driver, _case, _call, checks={"before": "edges"})


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record what every rank returns. A wrong program returns the loss at w + e, or the mean of the ranks."""
    case = _case_of(stage)
    for value in case.call_all(case.data[:1]):
        stage.recorder.returned(value)


add_usual(driver, _case, _call, checks={"types": "returns", "quiet": "returns"})
