import time

from grader.observe.play import Driver, Stage

from ._one_step import one_step

driver = Driver("slow_to_unpack")
_begun = time.process_time()
while time.process_time() < _begun + 0.7:  # as if it imported much
    pass


@driver.scenario("sgd", "SGD")
def _sgd(stage: Stage) -> None:
    one_step(stage, "slow_to_unpack")
