"""The five lines, and what is observed of them or of others in their place."""

from grader.exercises import driver_modules, load_driver
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Trace

EXERCISES = {name: load_driver(module) for name, module in driver_modules("five_line_step").items()}
RIGHT = """
def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
"""


def traced(source: str, exercise: str = "train_step", seed: int = 1) -> Trace:
    program = load_program(source)
    try:
        return play(EXERCISES[exercise], program, seed=seed)
    finally:
        program.unload()
