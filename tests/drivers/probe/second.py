from grader.observe.play import Driver, Stage

from ._one_step import one_step

driver = Driver("second")


@driver.scenario("sgd", "SGD")
def _sgd(stage: Stage) -> None:
    one_step(stage, "second")
