"""Torch's compiler stays out of a process that only trains, and is there for who asks for it."""

import subprocess
import sys

import pytest

BEGIN = """
import sys
import torch
from grader.sandbox.inside.compiler_stand_in import install_stand_ins
install_stand_ins()
weight = torch.nn.Parameter(torch.ones(3))
def trained():
    before = weight.detach().clone()
    for make in (torch.optim.SGD, torch.optim.AdamW, torch.optim.Adagrad):
        optimizer = make([weight], lr=0.1)
        (weight**2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return not torch.equal(weight, before)
def without():
    return "torch._dynamo.utils" not in sys.modules
"""


def ran(code: str, begin: str = BEGIN) -> None:
    """In a process of its own: pytest's has the compiler already."""
    done = subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_optimizers_and_accelerate_do_without_it() -> None:
    ran("""
assert trained() and without()
torch.use_deterministic_algorithms(True)
assert torch.func.grad(lambda x: x**2)(torch.ones(())).item() == 2
from accelerate import Accelerator
assert isinstance(Accelerator(cpu=True).unwrap_model(torch.nn.Linear(1, 1)), torch.nn.Linear)
assert without()
""")


@pytest.mark.full
@pytest.mark.parametrize(
    "wanted",
    [
        'assert torch.compile(lambda x: 2 * x, backend="eager")(torch.ones(1)).item() == 2',
        "import torch._dynamo.config; assert torch._dynamo.config is sys.modules['torch._dynamo.config']",
        "from torch._dynamo.utils import counters; assert counters is torch._dynamo.utils.counters",
        "torch._dynamo.reset()",
        "assert torch._dynamo.eval_frame.innermost_fn",
        "import torch._inductor.utils; torch._inductor.config.deterministic",
        "from torch._inductor.compiler_bisector import CompilerBisector",
    ],
)
def test_the_real_one_comes_where_it_is_asked_for(wanted: str) -> None:
    ran(f"""
assert trained() and without()
{wanted}
import torch._dynamo, torch._inductor
for module in (torch._dynamo, torch._inductor, sys.modules["torch._inductor.config"]):
    assert module is sys.modules[module.__name__] and module.__file__
assert trained() and not without()
""")


def test_one_that_is_there_already_stays() -> None:
    code = """
import torch._dynamo as real
from grader.sandbox.inside.compiler_stand_in import install_stand_ins
install_stand_ins()
assert real is sys.modules["torch._dynamo"] and real.__file__
"""
    ran(code, begin="import sys\n")


@pytest.mark.parametrize(
    "wanted", ["torch._dynamo.reset()", "import torch._inductor.utils", "torch.manual_seed(1)"]
)
def test_its_coming_is_nothing_that_a_submission_has_replaced(wanted: str) -> None:
    """Importing it wraps functions of torch; what is kept of torch must be the same afterwards."""
    ran(f"""
from grader.sandbox.inside.originals import Originals
assert trained()
originals = Originals()
originals.remember_libraries()
assert originals.restore() == []
{wanted}
assert trained()
assert originals.restore() == []
torch.manual_seed = print
assert originals.restore() == ["torch.manual_seed"]
""")


@pytest.mark.parametrize("begin", [BEGIN, BEGIN.replace("import torch\n", "import torch, torch._dynamo\n")])
def test_what_a_submission_replaces_is_named_and_restored(begin: str) -> None:
    """Also if the real compiler was there first."""
    ran(
        """
from grader.sandbox.inside.compiler_stand_in import restore
import torch._dynamo as compiler
disable, eval_frame = compiler.disable, compiler.eval_frame
compiler.disable = print
compiler.eval_frame = sys
torch._dynamo = sys
sys.modules["torch._dynamo"] = sys
assert restore() == ["torch._dynamo", "torch._dynamo.disable", "torch._dynamo.eval_frame"], restore()
assert torch._dynamo is sys.modules["torch._dynamo"] is compiler
assert (compiler.disable, compiler.eval_frame) == (disable, eval_frame)
assert restore() == []
""",
        begin,
    )


def test_a_failed_import_leaves_the_stand_ins() -> None:
    """Otherwise the submission would be told that it had replaced the compiler."""
    ran("""
from grader.sandbox.inside.compiler_stand_in import restore
stand_in, seed = torch._dynamo, torch.manual_seed
sys.modules["torch._dynamo.config"] = None
for _ in range(2):
    try:
        stand_in.reset()
    except ImportError:
        assert torch._dynamo is sys.modules["torch._dynamo"] is stand_in and torch.manual_seed is seed
        assert restore() == []
    else:
        raise AssertionError
assert trained()
""")


def test_the_coming_of_the_real_one_hides_no_replacement() -> None:
    """A submission that has kept a stand-in can call for the real compiler at any time."""
    ran("""
from grader.sandbox.inside.compiler_stand_in import restore
stand_in = torch._dynamo
graph_break = stand_in.graph_break
stand_in.graph_break = print
stand_in.reset()
assert restore() == ["torch._dynamo.graph_break"]
real = torch._dynamo
assert real is not stand_in and real.__file__
right = real.graph_break
real.graph_break = print
stand_in.reset()
assert restore() == ["torch._dynamo.graph_break"] and real.graph_break is right
assert restore() == []
""")


def test_a_false_package_is_not_taken_for_the_compiler() -> None:
    ran("""
import types
from grader.sandbox.inside.compiler_stand_in import restore
stand_in = torch._dynamo
false = types.ModuleType("torch._dynamo")
false.__path__ = stand_in.__path__
sys.modules["torch._dynamo"] = torch._dynamo = false
torch._inductor.anything if hasattr(torch._inductor, "anything") else None
assert "torch._dynamo" in restore()
assert torch._dynamo is sys.modules["torch._dynamo"] is not false
""")
