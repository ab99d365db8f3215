"""Programs for the microscope, and a short way to put one under it."""

import inspect
from typing import Any

from grader.course.reading import load_course
from grader.notebook.microscopy.look import View, views
from grader.observe.program import Program, load_program

HEAD = "def train_step(model, opt, loss_fn, xb, yb):\n"
RIGHT = """\
    opt.zero_grad()
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    opt.step()
    return loss.item()
"""
FORGETS = HEAD + RIGHT.replace("    opt.zero_grad()\n", "")
"""No `zero_grad`."""


def loaded(source: str, name: str = "train_step") -> tuple[Any, Program]:
    """The function, and the program that it is in."""
    program = load_program(source, name=f"under_the_microscope_{name}")
    return program.names[name], program


def looked(source: str, name: str = "train_step") -> list[View]:
    """Every view of a program."""
    function, program = loaded(source, name)
    return views(load_course().exercise(name), function, program)


def signature(source: str, name: str = "train_step") -> inspect.Signature:
    """Of the function in a program."""
    return inspect.signature(loaded(source, name)[0])
