"""Every classic exception has its own advice: each is raised for real, so a message that PyTorch words anew fails."""

import copy
import io
import math
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from grader.exercises.several_processes._group import groups_of
from grader.exercises.several_processes._ranks import Deadlock, several_ranks
from grader.observe.program import describe_failure, load_program
from grader.observe.wording import AFTER_THE_CALL, LEAVE_ORIGINALS
from grader.report.exceptions.advice import ADVICE, advise, entry_for
from grader.report.plain_text import split_code


def raised_on_ranks(function: Callable[[Any], Any]) -> str:
    """Return what a function raises on ranks, as a card says it."""
    with several_ranks(2) as world, pytest.raises((AttributeError, Deadlock)) as raised:
        world.run([lambda group=group: function(group) for group in groups_of(world)])
    return f"{raised.type.__name__}: {raised.value}"


RAISED = {
    "no-graph": (
        "with torch.no_grad(): loss = model(x).sum()\nloss.backward()",
        "torch.tensor(model(x).sum().item()).backward()",
    ),
    "second-backward": ("loss = model(x).pow(2).sum()\nloss.backward()\nloss.backward()",),
    "changed-in-place": (
        "h = model(x).exp()\nh += 1\nh.sum().backward()",
        "two = nn.Sequential(model, nn.Linear(2, 1))\nloss = two(x).sum()\n"
        "opt = torch.optim.SGD(two.parameters(), 1.0)\nloss.backward(retain_graph=True)\nopt.step()\nloss.backward()",
    ),
    "leaf-in-place": ("p = model.weight\np -= 0.1", "p = model.weight\np[0] = 1.0", "model.weight.add_(1.0)"),
    "numpy-with-grad": ("model.weight.numpy()", "np.asarray(model(x))"),
    "not-a-scalar": ("F.mse_loss(model(x), y, reduction='none').backward()",),
    "unused-in-graph": ("torch.autograd.grad(model.weight.sum(), [*model.parameters()])",),
    "copy-of-a-graph": ("copy.deepcopy(model(x))",),
    "requires-grad-again": ("model(x).requires_grad = True",),
    "requires-grad-of-a-result": ("model(x).requires_grad = False",),
    "inference-mode": (
        "with torch.inference_mode(): z = x + 1\nmodel(z)",
        "with torch.inference_mode(): z = x + 1\nz.add_(1)",
    ),
    "wrong-gradient": ("model.weight.grad = torch.ones(5)", "model.weight.grad = 1.0"),
    "tensor-as-parameter": ("model.weight = torch.ones(2, 3)",),
    "device": ("x + torch.ones(4, 3, device='meta')", "model.to('meta')(x)"),
    "loss-arguments": (
        "F.cross_entropy(torch.zeros(4, dtype=torch.long), model(x))",
        "F.cross_entropy(model(x), torch.zeros(4, 2, dtype=torch.long))",
        "F.nll_loss(x, x.long())",
    ),
    "target-dtype": ("F.cross_entropy(model(x), torch.zeros(4))", "F.nll_loss(model(x), torch.zeros(4))"),
    "index-dtype": ("nn.Embedding(5, 3)(x)",),
    "dtype": (
        "nn.Conv1d(1, 1, 1)(torch.ones(1, 1, 3).double())",
        "model(x.double())",
        "model(x.half())",
        "model(x.long())",
        "x[0].dot(x[0].double())",
    ),
    "integers": (
        "torch.arange(4).requires_grad_()",
        "torch.arange(4).mean()",
        "torch.arange(4, requires_grad=True)",
        "F.mse_loss(x.long(), x.long())",
    ),
    "matrix-shapes": ("model(torch.ones(4, 5))",),
    "vector-shapes": (
        "x @ torch.ones(4)",
        "torch.ones(3) @ torch.ones(4)",
        "torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 5, 6))",
    ),
    "layer-shapes": (
        "nn.LayerNorm(5)(x)",
        "nn.LSTM(3, 2)(torch.ones(4, 1, 5))",
        "nn.Conv2d(3, 2, 1)(torch.ones(1, 4, 5, 5))",
        "nn.BatchNorm1d(5)(x)",
    ),
    "binary-target-shape": (
        "F.binary_cross_entropy(torch.rand(4, 1), torch.ones(4))",
        "F.binary_cross_entropy_with_logits(torch.rand(4, 1), torch.ones(4))",
    ),
    "ragged-list": ("torch.tensor([[1, 2], [3]])",),
    "too-many-indices": ("x[0, 0, 0]", "x[0][0, 1]"),
    "float-as-index": ("x[torch.tensor([0.5])]",),
    "unknown-device": ("x.to('gpu')", "torch.ones(2, device='gpu:0')"),
    "module-before-init": (
        "class Net(nn.Module):\n    def __init__(self): self.layer = nn.Linear(1, 1)\nNet()",
        "class Net(nn.Module):\n    def __init__(self): self.w = nn.Parameter(torch.ones(1))\nNet()",
        "class Net(nn.Module):\n    def __init__(self): self.register_buffer('b', torch.ones(1))\nNet()",
    ),
    "assignment-out-of-range": ("losses = []\nlosses[0] = 1.0",),
    "math-domain": ("math.log(0)", "math.sqrt(-1)"),
    "empty-sequence": ("min([])", "max(n for n in ())"),
    "format-of-a-tensor": ("f'{x:.3f}'", "f'{model.bias:.3f}'"),
    "context-without-call": ("with torch.no_grad: pass",),
    "batch-shapes": (
        "F.cross_entropy(x, torch.zeros(3, dtype=torch.long))",
        "F.cross_entropy(torch.ones(4, 5, 2), torch.zeros(4, 5, dtype=torch.long))",
    ),
    "shapes": (
        "x + torch.ones(4, 4)",
        "torch.cat([x, y])",
        "torch.stack([x, y])",
        "x.expand(5, 3)",
        "x[:, 0].add_(torch.ones(2, 4))",
    ),
    "view-size": ("x.view(5, 2)", "x.t().view(12)"),
    "no-tensors": ("torch.cat([])", "torch.stack([])"),
    "target-out-of-bounds": ("F.cross_entropy(model(x), torch.full((4,), 7))",),
    "token-out-of-range": ("nn.Embedding(5, 3)(torch.tensor([9]))",),
    "one-sample": ("nn.BatchNorm1d(3)(x[:1])",),
    "condition-of-many": ("if x > 0: pass", "x in [torch.zeros(4, 3)]"),
    "number-of-many": ("x.item()", "float(x)"),
    "unscaled-twice": (
        "scaler.scale(model(x).sum()).backward()\nscaler.unscale_(opt)\nscaler.unscale_(opt)",
    ),
    "unscaled-after-step": (
        "scaler.scale(model(x).sum()).backward()\nscaler.step(opt)\nscaler.unscale_(opt)",
        "scaler.scale(model(x).sum()).backward()\nscaler.unscale_(opt)\nscaler.update()\nscaler.step(opt)\n"
        "scaler.unscale_(opt)",
    ),
    "scaler-stepped-twice": ("scaler.scale(model(x).sum()).backward()\nscaler.step(opt)\nscaler.step(opt)",),
    "updated-before-step": ("scaler.scale(model(x).sum()).backward()\nscaler.update()",),
    "nothing-to-unscale": ("scaler.scale(model(x).sum())\nscaler.step(opt)",),
    "never-scaled": (
        "scaler.update()",
        "scaler.unscale_(opt)",
        "model(x).sum().backward()\nscaler.step(opt)",
    ),
    "half-gradients": ("model.half()\nscaler.scale(model(x.half()).sum()).backward()\nscaler.unscale_(opt)",),
    "not-finite": (
        "model.weight.grad = torch.full((2, 3), torch.inf)\n"
        "nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)",
    ),
    "dtype-as-text": ("torch.autocast('cpu', 'bfloat16').__enter__()",),
    "no-parameters": ("torch.optim.SGD([], 0.1)", "p = model.parameters()\nlist(p)\ntorch.optim.SGD(p, 0.1)"),
    "not-a-parameter": (
        "torch.optim.SGD([model.weight * 2], 0.1)",
        "torch.optim.SGD(x, 0.1)",
        "torch.optim.SGD(['w'], 0.1)",
    ),
    "parameter-in-two-groups": (
        "torch.optim.SGD([{'params': [model.bias]}, {'params': [model.bias]}], 0.1)",
    ),
    "not-an-optimizer": ("torch.optim.lr_scheduler.StepLR(model, 1)",),
    "model-state": (
        "model.load_state_dict({})",
        "model.load_state_dict({**model.state_dict(), 'extra': x})",
        "model.load_state_dict(nn.Linear(4, 2).state_dict())",
    ),
    "optimizer-state": (
        "opt.load_state_dict(model.state_dict())",
        "opt.load_state_dict(torch.optim.SGD([model.bias], 0.1).state_dict())",
        "opt.load_state_dict(torch.optim.SGD([{'params': [p]} for p in model.parameters()], 0.1).state_dict())",
    ),
    "state-is-no-dict": ("model.load_state_dict(model)",),
    "weights-only": (
        "torch.save({'score': np.float64(1.0)}, file)\nfile.seek(0)\ntorch.load(file, weights_only=True)",
        "torch.save(model, file)\nfile.seek(0)\ntorch.load(file, weights_only=True)",
    ),
    "no-process-group": ("torch.distributed.all_reduce(x)", "torch.distributed.get_world_size()"),
    "no-folder": ("torch.save({}, '/nowhere/a.pt')",),
    "no-gradient": ("model.weight.grad.zero_()",),
    "adds-to-no-gradient": (
        "model.weight.grad = model.weight.grad + torch.ones(1)",
        "model.weight.grad += torch.ones(1)",
    ),
    "clips-nothing-yet": ("torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)",),
    "no-gradient-operand": (
        "model.weight - 0.1 * model.weight.grad",
        "model.weight.data.sub_(model.weight.grad)",
        "torch.stack([p.grad for p in model.parameters()])",
        "-model.weight.grad",
        "model.weight.grad > 0",
    ),
    "none-attribute": ("scheduler = None\nscheduler.step()", "torch.norm(None)"),
    "none-value": (
        "for p in None: pass",
        "a, b = None",
        "loss = None\nloss[0]",
        "scheduler = None\nscheduler()",
        "total = None\ntotal += x",
        "len(None)",
        "norm = None\nnorm > 1.0",
        "float(None)",
    ),
    "item-of-a-number": ("loss = 1.0\nloss.item()",),
    "number-for-a-tensor": ("model(x).sum().item().backward()",),
    "sequence-for-a-tensor": ("batch = (x, y)\nbatch.to('cpu')", "[x].shape"),
    "attribute-of-a-dict": ("{'lr': 0.1}.lr",),
    "missing-parentheses": ("x.mean.backward()", "x.size[0]"),
    "attribute-of-a-function": ("def loss_fn(): pass\nloss_fn.backward()",),
    "attribute-of-a-generator": (
        "len(p for p in [x])",
        "batches = (p for p in [x])\nbatches[0]",
        "(p for p in [x]).append",
    ),
    "self-too-early": ("class A: pass\nself = A()\nself.base_optimizer.step()",),
    "attribute-of-a-module": ("torch.relu_like(x)", "F.crossentropy(x, y)"),
    "attribute": (
        "class A: model = nn.Sequential()\nself = A()\nself.model.foward(x)",
        "x.backwards()",
        "opt.zero_gradients()",
        "model.paramters()",
    ),
    "frozen": (
        "import dataclasses\nC = dataclasses.make_dataclass('C', ['lr'], frozen=True)\nC(0.1).lr = 1.0",
    ),
    "scalar-tensor-in-a-loop": ("a, b = model(x).sum()",),
    "number-in-a-loop": ("for i in 5: pass", "loss, accuracy = 1.0"),
    "not-iterable": ("torch.optim.SGD(model, 0.1)", "a, b = model"),
    "module-called": ("copy(x)", "math(2.0)"),
    "not-callable": ("loss = model(x).sum()\nloss(x, y)", "accum_steps = 4\naccum_steps(2)"),
    "not-subscriptable": ("loss = 1.0\nloss[0]",),
    "tuple-assignment": ("batch = (x, y)\nbatch[0] = y",),
    "tensor-wanted": ("torch.sqrt(2.0)", "x.sub_('a')"),
    "argument-types": ("x.sum(dims=1)", "torch.zeros('3')"),
    "too-many-to-unpack": ("a, b = x",),
    "too-few-to-unpack": ("a, b = [x]",),
    "zero-division": ("1.0 / 0", "1 // 0", "1 % 0"),
    "entry-not-kept": ("{0: {}}[0]['old']",),
    "parameter-not-kept": ("{}[model.weight]", "{}[x]"),
    "missing-key": ("{}['model']",),
    "missing-other-key": ("{}[0]",),
    "index-out-of-range": ("[][0]", "()[0]", "[x].pop(3)"),
    "string-index-out-of-range": ("''[0]",),
    "pop-from-empty": (
        "[].pop()",
        "import collections\ncollections.deque().pop()",
        "set().pop()",
        "{}.popitem()",
    ),
    "tensor-index-out-of-range": ("x[5]", "x.sum(5)", "torch.tensor(1.0)[0]"),
    "exhausted": ("next(iter([]))",),
    "unexpected-keyword": (
        "F.cross_entropy(x, y, reduce_='sum')",
        "torch.optim.SGD(model.parameters(), weight=1)",
    ),
    "missing-argument": ("model()", "F.mse_loss(x)", "nn.utils.clip_grad_norm_(model.parameters())"),
    "too-few-arguments": ("math.sqrt()", "[].append()", "max()", "isinstance(x)"),
    "too-many-arguments": ("model(x, y)", "math.sqrt(1.0, 2.0)", "[].append(x, y)"),
    "argument-twice": ("model.forward(x, input=x)",),
    "missing-import": tuple(
        f"del {name}\n{name}.x" for name in ("F", "nn", "np", "math", "copy", "random", "torch")
    ),
    "other-spelling": ("true", "null"),
    "unknown-name": ("lr_shedule",),
    "unbound": ("def f():\n    for loss in []: pass\n    return loss\nf()",),
    "unknown-import": ("from torch.optim import Adm",),
    "missing-package": ("import no_such_package",),
    "no-file": ("torch.load('/nowhere.pt')", "open('/nowhere')"),
    "exit": ("raise SystemExit(1)",),
    "file-ends": ("torch.load(file)",),
    "recursion": ("def f(): return f()\nf()",),
}
"""Id of an entry -> programs whose last line raises an exception that it answers."""
TOLD_OTHERWISE = {
    "missing-on-ranks": (raised_on_ranks(lambda dist: dist.monitored_barrier()), None),
    "waits-without-end": (raised_on_ranks(lambda dist: dist.recv(torch.ones(1), 1 - dist.get_rank())), None),
    "input": ("EOFError: EOF when reading a line", None),  # the tests' own input may be a terminal
    "no-gpu": ("AssertionError: Torch not compiled with CUDA enabled", "model.cuda()"),  # here may be a GPU
    "own-signature": ("TypeError: train_step() takes 4 positional arguments but 5 were given", None),
    "replaced-originals": (f"RuntimeError: {LEAVE_ORIGINALS} 바뀐 것: `torch.relu`", "torch.relu = x"),
    "left-behind": (
        f"TypeError: {AFTER_THE_CALL} 다음 계산을 할 수 없어요: 'int' object is not iterable",
        None,
    ),
}
"""Entries whose exceptions cannot be raised here: Python's and the grader's own text, with the learner's line."""
CASES = [(entry, code) for entry, programs in RAISED.items() for code in programs]


def error_of(code: str) -> str:
    """Run a program that must raise, and return its exception as feedback shows it."""
    model = nn.Linear(3, 2)
    names: dict[str, Any] = {
        **{"torch": torch, "nn": nn, "F": F, "np": np, "math": math, "copy": copy, "random": random},
        **{"model": model, "opt": torch.optim.SGD(model.parameters(), 0.1), "file": io.BytesIO()},
        **{"x": torch.ones(4, 3), "y": torch.zeros(4, 2), "scaler": torch.amp.GradScaler("cpu")},
    }
    try:
        exec(code, names)
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError(f"raises nothing: {code}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("entry", "code"), CASES, ids=[f"{entry}-{i}" for i, (entry, _) in enumerate(CASES)])
def test_each_classic_exception_has_its_own_advice(entry: str, code: str) -> None:
    error, line = error_of(code), code.splitlines()[-1]
    answer = entry_for(error, line)
    assert answer is not None, error
    assert answer[0].id == entry, error
    told = advise(error, line)
    assert told is not None
    assert "{" not in told


@pytest.mark.parametrize("entry", TOLD_OTHERWISE)
def test_exceptions_that_are_not_raised_here_have_their_advice_too(entry: str) -> None:
    answer = entry_for(*TOLD_OTHERWISE[entry])
    assert answer is not None
    assert answer[0].id == entry


ANSWERED_TOO_WIDELY = [
    # No optimizer is loaded: the learner's own dictionary lacks the key
    ("optimizer-state", "KeyError: 'state'", "weights = checkpoint['state']"),
    ("optimizer-state", "KeyError: 'param_groups'", "groups = saved['param_groups']"),
    ("optimizer-state", "KeyError: 'state'", 'self.base.load_state_dict(state_dict["state"])'),
    # The gradient is there, and something else is None
    ("no-gradient", "AttributeError: 'NoneType' object has no attribute 'step'", "scheduler.step(p.grad)"),
    ("no-gradient", "AttributeError: 'NoneType' object has no attribute 'norm'", "x = ema.norm() * p.grad"),
    (
        "no-gradient",
        "TypeError: '>' not supported between instances of 'Tensor' and 'NoneType'",
        "if p.grad.norm() > max_norm:",
    ),
    # One device, two types
    (
        "device",
        "RuntimeError: Input type (torch.HalfTensor) and weight type (torch.FloatTensor) should be the same",
        "out = model(xb.half())",
    ),
    (
        "device",
        "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be "
        "the same",
        "out = model(xb.half())",
    ),
]
"""Entry, exception and line that it must not answer, because something else happened."""


@pytest.mark.parametrize(("entry", "error", "line"), ANSWERED_TOO_WIDELY)
def test_no_entry_answers_what_is_something_else(entry: str, error: str, line: str) -> None:
    answer = entry_for(error, line)
    assert answer is not None
    assert answer[0].id != entry


def test_a_cpu_tensor_in_a_gpu_model_is_on_another_device() -> None:
    types = "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same"
    answer = entry_for(f"RuntimeError: {types}", "model(xb)")
    assert answer is not None
    assert answer[0].id == "device"


def test_an_operand_that_is_none_is_the_gradient_only_perhaps() -> None:
    told = advise(
        "TypeError: unsupported operand type(s) for *: 'NoneType' and 'Tensor'", "step = lr * p.grad"
    )
    assert told is not None
    assert "`.grad`가 `None`이라면" in told


def test_every_entry_is_reached_and_says_something_of_its_own() -> None:
    assert {*RAISED, *TOLD_OTHERWISE} == {entry.id for entry in ADVICE}
    assert len({entry.text for entry in ADVICE}) == len({entry.id for entry in ADVICE}) == len(ADVICE)


def test_advice_is_polite_korean_that_ends_in_what_to_do() -> None:
    for entry in ADVICE:
        prose = "".join(piece for piece, is_code in split_code(entry.text) if not is_code)
        assert prose.rstrip().endswith("요."), entry.id
        assert not re.search(r"[A-Z][a-z]+(?:Error|Exception)", prose), entry.id


def test_advice_names_what_the_exception_names() -> None:
    said = advise("NameError: name 'F' is not defined", "loss = F.cross_entropy(out, yb)")
    assert said is not None
    assert "`F`를 import하지 않았어요" in said
    assert "`import torch.nn.functional as F`" in said
    said = advise("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x5 and 3x2)", "out = model(yb)")
    assert said is not None
    assert "4x5와 3x2는 곱할 수 없어요" in said


def test_what_a_learner_writes_into_an_exception_is_no_format() -> None:
    """A name in the message cannot reach into the objects that fill the advice."""
    for message in ("'{0.__class__}' object has no attribute 'x'", "'A' object has no attribute '{name}'"):
        advise(f"AttributeError: {message}", None)
    assert advise("ValueError: 그냥", "raise ValueError('그냥')") is None


def test_advice_on_the_order_of_a_scaler_fits_both_causes() -> None:
    """PyTorch raises the same in the next update, whose `unscale_` is in order, if `update` came before `step`."""
    for code in RAISED["unscaled-after-step"]:
        told = advise(error_of(code), code.splitlines()[-1])
        assert told is not None
        assert "`scaler.step(opt)` 다음에 `scaler.update()`를 부르지 않은 채" in told


def test_name_that_nearly_exists_is_suggested() -> None:
    """As Python's own display ends; a name far from all others, and an attribute of `None`, get the usual advice."""
    code = "def f(opt):\n    logits = 3\n    return logit\n"
    program = load_program(code)
    with pytest.raises(NameError) as raised:
        program.names["f"](None)
    failure = describe_failure(raised.value, program)
    assert failure.message == "name 'logit' is not defined. Did you mean: 'logits'?"
    said = advise(f"NameError: {failure.message}", "return logit")
    assert said is not None
    assert said == "`logit`이라는 이름은 없어요. `logits`를 쓰려던 건가요?"
    far = load_program("def f():\n    return qwertyuiop\n")
    with pytest.raises(NameError) as unlike:
        far.names["f"]()
    assert "Did you mean" not in describe_failure(unlike.value, far).message


@pytest.mark.parametrize(
    ("parameters", "used", "meant"),
    [
        ("opt, scheduler", "sched", "scheduler"),
        ("opt", "optimizer", "opt"),
        ("loss_fn, loss_sum", "loss", None),
    ],
)
def test_longer_or_shorter_name_is_suggested_if_it_is_the_only_one(
    parameters: str, used: str, meant: str | None
) -> None:
    program = load_program(f"def f({parameters}):\n    return {used}\n")
    with pytest.raises(NameError) as raised:
        program.names["f"](*parameters.split(", "))
    message = describe_failure(raised.value, program).message
    assert message.endswith(f"Did you mean: '{meant}'?" if meant else "is not defined")


def test_function_that_is_passed_in_has_its_own_name() -> None:
    """Where a driver defined it is of no use, and hid which argument of it is missing."""

    def make() -> Any:
        def loss_fn(logits: Any, target: Any) -> None: ...

        return loss_fn

    program = load_program("def f(loss_fn):\n    return loss_fn(1)\n")
    with pytest.raises(TypeError) as raised:
        program.names["f"](make())
    failure = describe_failure(raised.value, program)
    assert failure.message == "loss_fn() missing 1 required positional argument: 'target'"
    said = advise(f"TypeError: {failure.message}", "return loss_fn(1)")
    assert said is not None
    assert "`target` 인자를 빠뜨렸어요" in said


@pytest.mark.parametrize(
    ("line", "near"),
    [("opt.zero_grd()", "zero_grad"), ("opt.params_groups", "param_groups"), ("opt.xyz()", None)],
)
def test_attribute_that_nearly_exists_is_suggested(line: str, near: str | None) -> None:
    program = load_program(f"def f(opt):\n    {line}\n")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    with pytest.raises(AttributeError) as raised:
        program.names["f"](optimizer)
    failure = describe_failure(raised.value, program)
    said = advise(f"AttributeError: {failure.message}", line)
    assert said is not None
    assert (f"`{near}`" in said) == (near is not None)


def test_a_value_that_was_not_kept_is_no_misspelling() -> None:
    """Python suggests `loss_fn` for `loss`, and a learner would write `loss_fn.backward()`."""
    said = advise("NameError: name 'loss' is not defined. Did you mean: 'loss_fn'?", "loss.backward()")
    assert said is not None
    assert "`loss = …`" in said
    assert "철자" not in said


def test_a_function_of_another_notebook_is_named_as_one() -> None:
    said = advise("NameError: name 'train_step' is not defined", "return train_step(model, opt)")
    assert said is not None
    assert "다른 노트북" in said
