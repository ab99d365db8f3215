"""What a submission reaches for is seen, however it is spelled; what everybody does is not."""

import pytest

from grader.observe.attached_modules import with_modules
from grader.sandbox.sandbox import Job, Sandbox
from tests.sandbox.neighbour import NEIGHBOUR, ONE_PROCESS, RIGHT, SEED, run

pytestmark = [pytest.mark.sandbox, ONE_PROCESS]

SPELLED_OTHERWISE = {
    "getattr(__import__('s' + 'ys'), '_get' + 'frame')()": "sys._getframe",
    "next(__import__('traceback').walk_stack(None))": "sys._getframe",
    "__import__('inspect').stack()": "sys._getframe",
    "list(map(__import__('sys')._getframe, [1]))": "sys._getframe",
    "getattr(__import__('g' + 'c'), 'get_referents')(model)": "gc.get_referents",
    "getattr(frame_of_an_error(), 'tb_' + 'frame')": "tb_frame",
    "getattr((i for i in [1]), 'gi_' + 'frame')": "gi_frame",
    "__import__('sys').settrace(None)": "sys.settrace",
    "setattr(frame_of_an_error, '__co' + 'de__', (lambda: 0).__code__)": "__code__",
}
HONEST = [
    "__import__('traceback').format_exc()",
    "__import__('warnings').warn('careful')",
    "__import__('logging').getLogger().warning('a log')",
    "__import__('collections').namedtuple('Point', 'x y')",
    "__import__('torch').manual_seed(0)",
    "__import__('copy').deepcopy(model)",
    "__import__('gc').collect()",
    "__import__('traceback').print_exc()",
    "__import__('dataclasses').make_dataclass('C', ['x'])",
]
HELPER = """
def frame_of_an_error():
    try:
        1 / 0
    except ZeroDivisionError as error:
        return error.__traceback__
"""


def source(act: str) -> str:
    return HELPER + RIGHT.format(name="first").replace("    opt.step()", f"    {act}\n    opt.step()")


@pytest.mark.parametrize(("act", "named"), SPELLED_OTHERWISE.items())
def test_reaching_is_seen(sandbox: Sandbox, act: str, named: str) -> None:
    text = source(act)
    first, second = run(sandbox, text + RIGHT.format(name="second"))
    line = next(number for number, line in enumerate(text.split("\n"), start=1) if act in line)
    assert (named, line) in second.suspicious_acts
    assert first.trace is not None


def test_what_everybody_does_is_not(sandbox: Sandbox) -> None:
    text = "".join(f"\n    {act}" for act in HONEST)
    program = NEIGHBOUR.replace("\n    opt.step()", f"{text}\n    opt.step()")
    assert [(outcome.status, outcome.suspicious_acts) for outcome in run(sandbox, program)] == [
        ("ran", ())
    ] * 2


def test_it_is_told_as_often_as_that(sandbox: Sandbox) -> None:
    """Each line once; a submission that does it everywhere is told to do it twenty times."""
    everywhere = "\n".join(["    __import__('sys')._getframe()"] * 60)
    text = RIGHT.format(name="first").replace("    opt.step()", f"{everywhere}\n    opt.step()")
    _, second = run(sandbox, text + RIGHT.format(name="second"))
    assert len(second.suspicious_acts) == 20
    assert second.status == "ran"


def test_a_module_handed_in_along_is_found_and_watched(sandbox: Sandbox) -> None:
    """What it does is told of the line that led there; the modules of one program are not those of the next."""
    helper = "import sys\ndef step(opt):\n    sys._getframe()\n    opt.step()\n"
    text = RIGHT.format(name="first").replace("    opt.step()", "    from helper import step\n    step(opt)")
    (outcome,) = sandbox.run([Job(with_modules(text, {"helper": helper}), ("first",))], SEED)
    line = next(number for number, line in enumerate(text.split("\n"), start=1) if "step(opt)" in line)
    assert outcome.trace is not None
    assert not any(run.failure for run in outcome.trace.runs.values())
    assert outcome.suspicious_acts == (("sys._getframe", line),)
    other = Job(text.replace("first", "second"), ("second",))
    _, without = sandbox.run([Job(with_modules(text, {"helper": helper}), ("first",)), other], SEED)
    assert without.trace is not None
    assert all(run.failure for run in without.trace.runs.values())


def test_it_is_told_of_the_file_that_does_it(sandbox: Sandbox) -> None:
    """Two files of one submission, in one fork."""
    text = source("__import__('sys')._getframe()")
    jobs = [Job(text, ("first",)), Job(RIGHT.format(name="second"), ("second",))]
    first, second = sandbox.run(jobs, SEED)
    assert [act for act, _ in first.suspicious_acts] == ["sys._getframe"]
    assert second.suspicious_acts == ()
    assert (first.status, second.status) == ("ran", "ran")
