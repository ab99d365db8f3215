"""What a submission reaches for is seen, however it is spelled; what everybody does is not."""

import os
import subprocess
import sys

import pytest

from grader.observe.attached_modules import with_modules
from grader.sandbox.inside import suspicious_acts
from grader.sandbox.sandbox import Job, Sandbox
from tests.places import ROOT
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
    "getattr((i for i in [1]), 'gi_' + 'code')": "gi_code",
    "__import__('sys').settrace(None)": "sys.settrace",
    r"exec('import sys\nsys._get' + 'frame()')": "sys._getframe",
    "eval(\"__import__('sys')._getframe()\")": "sys._getframe",
    "exec(\"def f(): __import__('inspect').stack()\", globals()); f()": "sys._getframe",
    "import builtins as b, sys; own = b.len; b.len = lambda _: 99; sys._getframe(); b.len = own": "sys._getframe",
    "setattr(frame_of_an_error, '__co' + 'de__', (lambda: 0).__code__)": "__code__",
}
HONEST = [
    "__import__('traceback').format_exc()",
    "__import__('warnings').warn('careful')",
    "__import__('logging').getLogger().warning('a log')",
    "__import__('collections').namedtuple('Point', 'x y')",
    "__import__('types').coroutine(lambda: (yield))",
    "__import__('inspect').getfile(frame_of_an_error)",
    "__import__('inspect').signature(frame_of_an_error)",
    "__import__('torch').manual_seed(0)",
    "__import__('copy').deepcopy(model)",
    "__import__('gc').collect()",
    "__import__('traceback').print_exc()",
    "__import__('dataclasses').make_dataclass('C', ['x'])(x=1)",
    "__import__('sys').audit('object.__getattr__', 1)",
    "__import__('sys').audit('object.__getattr__', 1, [])",
    "__import__('sys').audit('object.__setattr__', 1)",
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
    program = HELPER + NEIGHBOUR.replace("\n    opt.step()", f"{text}\n    opt.step()")
    outcomes = run(sandbox, program)
    assert [(outcome.status, outcome.suspicious_acts) for outcome in outcomes] == [("ran", ())] * 2
    for outcome in outcomes:
        assert outcome.trace is not None
        assert outcome.trace.load_failure is None
        assert not any(run.failure for run in outcome.trace.runs.values())


def test_it_is_told_as_often_as_that(sandbox: Sandbox) -> None:
    """Each line once; a submission that does it everywhere is told to do it twenty times."""
    everywhere = "\n".join(["    __import__('sys')._getframe()"] * 60)
    text = RIGHT.format(name="first").replace("    opt.step()", f"{everywhere}\n    opt.step()")
    _, second = run(sandbox, text + RIGHT.format(name="second"))
    assert len(second.suspicious_acts) == 20
    assert second.status == "ran"


@pytest.mark.parametrize("times", [1, 60])
def test_another_program_is_told_of_anew(sandbox: Sandbox, times: int) -> None:
    """The act stands on the same line of the second program, and both run in one child."""
    acts = "\n".join(["    __import__('sys')._getframe()"] * times)
    programs = [
        RIGHT.format(name=name).replace("    opt.step()", f"{acts}\n    opt.step()")
        for name in ("first", "second")
    ]
    jobs = [Job(program, (name,)) for program, name in zip(programs, ("first", "second"), strict=True)]
    first, second = sandbox.run(jobs, SEED)
    assert len(first.suspicious_acts) == min(times, 20)
    assert first.suspicious_acts == second.suspicious_acts
    assert (first.status, second.status) == ("ran", "ran")


def test_what_a_module_handed_in_along_does_at_its_import_is_told_of_the_import(sandbox: Sandbox) -> None:
    text = RIGHT.format(name="first").replace("    opt.step()", "    import outer\n    opt.step()")
    modules = {"outer": "import inner\n", "inner": "import sys, logging\nsys._getframe()\n"}
    (outcome,) = sandbox.run([Job(with_modules(text, modules), ("first",))], SEED)
    line = next(number for number, line in enumerate(text.split("\n"), start=1) if "import outer" in line)
    assert outcome.suspicious_acts == (("sys._getframe", line),)


def test_only_pythons_own_modules_act_for_their_caller() -> None:
    library = os.path.dirname(os.__file__)
    acts_for_its_caller = suspicious_acts._acts_for_its_caller
    assert acts_for_its_caller(os.path.join(library, "inspect.py"))
    assert not acts_for_its_caller(os.path.join(library, "site-packages", "torch", "_ops.py"))
    assert not acts_for_its_caller(os.path.join(library, "dist-packages", "numpy", "core.py"))
    assert not acts_for_its_caller(f"{library}-of-somebody/module.py")


IN_THREADS = """
import sys, threading, time
from grader.sandbox.inside.suspicious_acts import watch_for_suspicious_acts

at_once, most_at_once, told = 0, 0, []
def report(act, line, program):
    global at_once, most_at_once
    at_once += 1
    most_at_once = max(most_at_once, at_once)
    time.sleep(0.01)
    told.append(line)
    at_once -= 1

watch_for_suspicious_acts("<program>", report, max_reports=20)
program = "import sys\\n" + "".join(f"def f{n}(): sys._getframe()\\n" for n in range(12))
names = {}
exec(compile(program, "<program>", "exec"), names)
threads = [threading.Thread(target=names[f"f{n % 12}"]) for n in range(24)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(most_at_once, sorted(told) == list(range(2, 14)))
"""


def test_threads_are_told_of_one_after_the_other() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_THREADS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "True"]


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
