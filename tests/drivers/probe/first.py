from grader.observe.play import Driver, Stage

from ._one_step import one_step

driver = Driver("first")


@driver.scenario("sgd", "SGD")
def _sgd(stage: Stage) -> None:
    one_step(stage, "first")
