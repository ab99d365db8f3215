"""Driver of `sam_step_local`: one SAM update on every rank; only its second pass is averaged over the ranks.

The first pass finds e, by which SAM climbs from w to w + e; the second finds the gradient for the update
(`fixtures/sam.py`). Here each rank makes the first pass alone (`no_sync`), so each has an e of its own. The gradients
of the second are averaged, so all ranks make the same update.

Promises of the exercise, and the scenarios that check them:
    the gradients of the first pass are not averaged, those of the second are: `sgd`, `momentum`, `three-ranks`,
        `passes`
    gradients from before are not mixed in: `before`
    the loss at w of this rank is returned, a float: `returns`, `types`

The contract of all exercises adds: nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from typing import Any

from grader.exercises.fixtures.classifiers import MakeOptimizer, loss_function, momentum_sgd, sgd
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.sam import FixtureSAM
from grader.exercises.fixtures.usual import Case, add_usual
from grader.exercises.several_processes._cases import RankCase, equal_batches, rank_case
from grader.observe.play import Driver, Stage

driver = Driver("sam_step_local")


def _case(stage: Stage, *, ranks: int = 2, make_optimizer: MakeOptimizer = sgd, count: int = 2) -> RankCase:
    """Return a case with a SAM over an optimizer on every rank, and `count` batches of each rank's own."""
    return rank_case(
        stage,
        "sam_step_local",
        equal_batches(count, 6),
        ranks=ranks,
        make_optimizer=lambda model: FixtureSAM(make_optimizer(model), stage.recorder),
        loss_fn=loss_function(stage.env),
        passes_one_batch=True,
    )


def _call(case: Case, data: Any) -> Any:
    """Call the learner's function with the first batch of `data`; `add_usual` hands over a list of batches."""
    return case.call(data[:1])


def _update(stage: Stage, make_optimizer: MakeOptimizer, *, ranks: int = 2) -> None:
    """Make one call for each of two batches, and record the weights of every rank."""
    case = _case(stage, ranks=ranks, make_optimizer=make_optimizer)
    for batch in case.data:
        case.call([batch])
    case.record_weights()


@driver.scenario("sgd", "SGD 위의 SAM", check="update")
def _sgd(stage: Stage) -> None:
    """Update twice over SGD. A wrong program averages both passes, neither, or only the first."""
    _update(stage, sgd)


@driver.scenario("momentum", "모멘텀 위의 SAM", check="update")
def _momentum(stage: Stage) -> None:
    """Update twice over SGD with momentum. A wrong program keeps the first pass's gradient and adds the second's."""
    _update(stage, momentum_sgd)


@driver.scenario("three-ranks", "rank 세 개", check="update")
def _three_ranks(stage: Stage) -> None:
    """Update on three ranks. A wrong program divides by 2, whatever the number of ranks."""
    _update(stage, sgd, ranks=3)


@driver.scenario("passes", "합친 패스와 합치지 않은 패스", check="passes")
def _passes(stage: Stage) -> None:
    """Count how often each call averages the gradients. A wrong program puts only `backward` into `no_sync`.

    That has no effect: DDP decides in the forward pass whether the backward pass after it averages.
    """
    case = _case(stage, count=stage.env.draw("calls").whole(2, 4))
    for batch in case.data:
        case.call([batch])
    case.record_averages()


add_usual(driver, _case, _call, checks={"before": "edges"})


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record what every rank returns. A wrong program returns the loss at w + e, or the mean of all ranks' losses."""
    case = _case(stage)
    for value in case.call_all(case.data[:1]):
        stage.recorder.returned(value)


add_usual(driver, _case, _call, checks={"types": "returns", "quiet": "returns"})
