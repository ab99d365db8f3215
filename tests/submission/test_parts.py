"""Programs of one form do the same, and a part is made only of what does the same wherever it stands."""

import pytest

from grader.course.reading import load_course
from grader.judging.edits import exercise_source
from grader.submission.exercise_parts import Part, parts
from tests.sample_programs import samples

STEP = """
import torch

def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    opt.step()
    return loss.item()
"""


def part(text: str, name: str = "train_step") -> Part | None:
    """The exercise's part, if there is one."""
    return (parts(text, [name]) or {}).get(name)


def form(text: str) -> str:
    """The form of the exercise's part; it has to have one."""
    found = part(text)
    assert found is not None
    return found.form


SAME = {
    "comments": STEP.replace("    opt.step()", "    # 마지막으로\n    opt.step()  # 움직입니다"),
    "docstring": STEP.replace("    opt.zero_grad()", '    """한 스텝."""\n    opt.zero_grad()'),
    "layout": STEP.replace(
        "loss_fn(logits, yb)", "(\n        loss_fn(\n            logits, yb,\n        )\n    )"
    ),
    "names": STEP.replace("logits", "예측").replace("loss =", "L =").replace("loss.", "L."),
    "others": f"import math\n{STEP}\ndef evaluate(model, loss_fn, loader):\n    return eval('1'), BATCH\nBATCH = 4\n",
    "imports": STEP.replace("import torch", "import torch, math\nfrom torch import nn\nimport torch"),
    "check": STEP.replace("import torch", "import torch\nfrom grader import check") + "check(train_step)\n",
    "strings": STEP.replace("    opt.step()", "    '마지막으로'\n    opt.step()\n    pass"),
    "annotated variable": STEP.replace("loss =", "loss: float ="),
    "dataclass": STEP.replace("import torch", "import torch\nfrom dataclasses import dataclass")
    + "\n@dataclass(frozen=True, slots=True)\nclass A:\n    b: int = 1\n",
    "place": f"\n\n\nX = 3\n{STEP}",
}

OTHER = {
    "swapped names": STEP.replace("loss_fn(logits, yb)", "loss_fn(yb, logits)"),
    "one name for two": STEP.replace("logits", "loss"),
    "another argument": STEP.replace("xb", "x"),
    "order": STEP.replace("    loss.backward()\n    opt.step()", "    opt.step()\n    loss.backward()"),
    "return": STEP.replace("loss.item()", "float(loss)"),
    "number": STEP.replace("loss_fn(logits, yb)", "loss_fn(logits, yb) * 1"),
    "annotation": STEP.replace("yb):", "yb) -> float:"),
    "default": STEP.replace("yb):", "yb, n=1):"),
    "what it says": STEP.replace("    opt.step()", '    print(f"{loss=}")\n    opt.step()'),
    "helper": f"{STEP}\n".replace("loss_fn(logits, yb)", "helper(loss_fn, logits, yb)")
    + "def helper(loss_fn, logits, yb):\n    return loss_fn(logits, yb)\n",
}

HALF = STEP.replace("loss_fn(logits, yb)", "loss_fn(logits, yb) * HALF")
UNCERTAIN = {
    "defined twice": f"{STEP}\ndef train_step(model):\n    return 0.0\n",
    "bound again": f"{STEP}\ntrain_step = 3\n",
    "bound in a branch": f"{STEP}\nif True:\n    train_step = 3\n",
    "bound by a loop": f"{STEP}\nfor train_step in (): pass\n",
    "bound by a walrus": f"{STEP}\nA = [[train_step for train_step in ()], (train_step := None)]\n",
    "bound by match": f"{STEP}\nif True:\n    match None:\n        case train_step: pass\n",
    "bound in a class body": f"{STEP}\nclass A:\n    global train_step\n    train_step = None\n",
    "bound by a decorator": f"{STEP}\ndef f(g):\n    return g\n@f\ndef h():\n    pass\n",
    "bound by a hook": f"{STEP}\nclass A:\n    def __class_getitem__(cls, k):\n        pass\nB = A[0]\n",
    "unbound by a handler": f"HALF = 1\n{HALF}\ntry:\n    import nope\nexcept ImportError as HALF:\n    pass\n",
    "changed by another": f"HALF = 1\n{HALF}\ndef f():\n    global HALF\n    HALF = 2\n",
    "needs what comes later": STEP.replace("import torch", "").replace("model,", "model: torch.nn.Module,")
    + "\nimport torch\n",
    "decorated too early": STEP.replace("import torch", "").replace("def", "@torch.no_grad()\ndef")
    + "\nimport torch\n",
    "constant that comes later": STEP.replace("yb):", "yb, n=math.pi):") + "\nimport math\n",
    "star import": f"from math import *\n{STEP}",
    "one name for two": f"import math as torch\n{STEP}".replace("loss.item()", "torch.exp(loss)"),
    "defines a decorator": f"{STEP}\ndef dataclass(c):\n    return c\n@dataclass\nclass A:\n    pass\n",
    "enumerates": f"from enum import Enum\n{STEP}\nclass A(Enum):\n    B = 1\n    def __init__(self):\n        pass\n",
    "takes its time in loops": f"{STEP}\nclass A:\n    X = [0 for i in range(999) for j in range(999)]\n",
    "takes the memory": f"A0 = [0, 0]\nA1 = A0 + A0\n{STEP}",
    "takes the memory in place": f"A = [0, 0]\nif A:\n    A += A\n{STEP}",
    "takes its time in a range": f"{STEP}\nX = [0 for i in range(10000000)]\n",
    "a number too long to print": STEP.replace("loss.item()", f"loss.item() + 0x{'f' * 5000}"),
    "a space that is none": f"{STEP}\ndef show(title=f\"{{'에폭\u3000손실'}}\".strip()):\n    print(title)\n",
    "looks at errors": f"import contextlib\n{STEP}".replace(
        "    opt.step()", "    contextlib.ExitStack()\n    opt.step()"
    ),
    "looks at lines": STEP.replace("loss.item()", "loss.lineno"),
    "runs something": f"{STEP}\nprint('hello')\n",
    "runs it in a default": f"{STEP}\ndef other(x=print('hello')):\n    return x\n",
    "runs it in a class": f"{STEP}\nclass Other:\n    x = print('hello')\n",
    "takes its time": f"{STEP}\nA = 9 ** 9 ** 9\n",
    "writes into a module": f"import itertools\n{STEP}\nitertools.islice = None\n",
    "unknown name": STEP.replace("loss_fn(logits, yb)", "criterion(logits, yb)"),
    "unknown package": f"import shelve\n{STEP}".replace(
        "logits = model(xb)", "logits = shelve.open(model(xb))"
    ),
    "looks at names": STEP.replace("loss.item()", "locals()['loss'].item()"),
    "looks at them by way of torch": STEP.replace("loss.item()", "torch.builtins.locals()['loss']"),
    "takes them from torch": f"from torch import sys\n{STEP}".replace("loss.item()", "sys.exc_info()"),
    "looks at code": STEP.replace("loss.item()", "train_step.__code__"),
    "keeps a list": f"SEEN = []\n{STEP}".replace("loss.item()", "SEEN.append(loss.item()) or SEEN[-1]"),
    "keeps a default": STEP.replace("yb):", "yb, seen=[]):"),
    "keeps an attribute": STEP.replace("    opt.step()", "    train_step.calls = 1\n    opt.step()"),
    "keeps it in torch": STEP.replace("    opt.step()", "    torch.calls = 1\n    opt.step()"),
    "keeps a global": f"N = 0\n{STEP}".replace(
        "    opt.zero_grad()", "    global N\n    N += 1\n    opt.zero_grad()"
    ),
    "hands itself on": STEP.replace("loss.item()", "[train_step, loss.item()][1]"),
    "cached": STEP.replace("def train_step", "@functools.cache\ndef train_step").replace(
        "import torch", "import torch, functools"
    ),
    "class": f"class Step:\n    n = 0\n{STEP}".replace("loss.item()", "loss.item() + Step.n"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_run_is_not_in_the_form(name):
    """Two students who differ in comments, layout and names of variables wrote one program."""
    assert form(SAME[name]) == form(STEP)


@pytest.mark.parametrize("name", OTHER)
def test_what_runs_is_in_the_form(name):
    """Names of arguments too: the caller may say them."""
    assert form(OTHER[name]) != form(STEP)


@pytest.mark.parametrize("name", UNCERTAIN)
def test_a_part_is_only_what_does_the_same_everywhere(name):
    """Nothing whose behaviour depends on the rest of the file, on earlier calls or on the names in it."""
    assert part(UNCERTAIN[name]) is None


def test_a_part_holds_what_its_exercise_leans_on_and_no_more():
    """Helpers, imports and constants stand where they stood."""
    text = (
        "import torch\nfrom torch import nn\n\nRATE = 0.5\nOTHER = 1\n\n"
        "def halved(x):\n    return x * RATE\n\n"
        "def unused():\n    return OTHER\n\n"
        "def zero_gradients(params):\n    return torch.zeros(1) + halved(2)\n"
    )
    found = part(text, "zero_gradients")
    assert found is not None
    kept = found.text.split("\n")
    assert len(kept) == len(text.split("\n"))
    assert [line for line in kept if line] == [
        "import torch",
        "from torch import nn",
        "RATE = 0.5",
        "def halved(x):",
        "    return x * RATE",
        "def zero_gradients(params):",
        "    return torch.zeros(1) + halved(2)",
    ]


def test_text_that_is_no_program_has_no_parts():
    """Nor has what is nested too deeply."""
    assert parts("def f(:\n", ["f"]) is None
    assert parts(f"def f():\n    return {'-' * 20_000}1\n", ["f"]) is None


def test_an_import_that_may_fail_is_in_the_form():
    """A note is told of one that does."""
    assert form(f"import torchvision\n{STEP}") != form(STEP)
    assert form(f"from torch import nothing\n{STEP}") != form(STEP)


def test_variables_keep_their_names_where_a_message_may_say_them():
    """`str(error)` of a NameError names one."""
    guarded = STEP.replace(
        "    opt.step()\n", "    try:\n        opt.step()\n    except NameError as e:\n        print(e)\n"
    )
    assert form(guarded) != form(guarded.replace("logits", "prediction"))


def test_what_a_local_variable_hides_is_not_needed():
    """A notebook has `losses` at its top level, and a function its own."""
    assert form(f"losses = []\n{STEP}".replace("logits", "losses")) != ""
    shadowed = "from math import prod as sum\n" + STEP.replace(
        "loss.item()", "sum([1.0] + [sum for sum in ()])"
    )
    assert form(shadowed) != form(shadowed.replace("from math import prod as sum\n", ""))


def programs(kind: str, exercise: str) -> list[str]:
    return [sample.text for sample in samples(kind, exercise) if sample.suffix == ".py"]


@pytest.mark.parametrize("exercise", [*load_course().exercises])
def test_no_right_program_has_the_form_of_a_wrong_one(exercise):
    """All programs of the tests: right ones, wrong ones, and first tries."""
    right = [*programs("accepted", exercise), exercise_source(load_course().exercise(exercise))]
    wrong = [*programs("rejected", exercise), *programs("first_tries", exercise)]
    forms = [
        {part.form for text in texts for part in (parts(text, [exercise]) or {}).values()}
        for texts in (right, wrong)
    ]
    assert not forms[0] & forms[1]
