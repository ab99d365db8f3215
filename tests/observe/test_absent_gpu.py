"""Without a GPU, what a program asks of CUDA is done on the CPU, and a note says which line asked first."""

import io

import numpy as np
import pytest
import torch

from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Trace
from tests.observe.five_lines import EXERCISES, RIGHT, traced

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")

ASKS = {
    "to a name": 'xb, yb = xb.to("cuda"), yb.to("cuda:0", non_blocking=True)',
    "to a number": "xb = xb.to(0)",
    "to a device": 'device = torch.device("cuda"); xb, yb = xb.to(device), yb.to(device=device)',
    "with a type": 'xb = xb.to("cuda", xb.dtype)',
    "the tensor's own": "xb, yb = xb.cuda(), yb.cuda(0, non_blocking=True)",
    "the model": "model.cuda()",
    "the model by name": 'model.to("cuda")',
    "the model to a number": "model.to(0).to(device=0)",
    "made there": 'xb = xb + torch.zeros(1, device="cuda", dtype=xb.dtype)',
    "made like another": 'xb = xb + torch.zeros_like(xb, device="cuda:0")',
    "made of a list": 'xb = xb * torch.tensor([1.0], device="cuda", dtype=xb.dtype)',
    "a layer": 'torch.nn.utils.skip_init(torch.nn.Linear, 2, 2, device="cuda")',
    "synchronized": "torch.cuda.synchronize()",
    "the current one": "torch.cuda.set_device(0); xb = xb.to(torch.cuda.current_device())",
    "moved and pinned": "xb = xb.cuda().pin_memory()",
    "a number's device": "xb = xb.to(torch.device(0))",
    "the current one by number": "xb, yb = xb.cuda(0), yb.to(device=torch.device(0))",
    "a generator there": 'xb = xb + 0 * torch.rand(1, generator=torch.Generator(device="cuda"), dtype=xb.dtype)',
    "a generator by position": 'assert isinstance(torch.Generator("cuda:0").manual_seed(1), torch.Generator)',
    "a generator by number": "torch.Generator(torch.device(0))",
    "the default": 'torch.set_default_device("cuda"); xb = xb + torch.zeros(1, dtype=xb.dtype)',
    "the default inside": 'with torch.device("cuda"): xb = xb + torch.zeros(1, dtype=xb.dtype)',
    "an old name of a type": 'yb = yb.type("torch.cuda.LongTensor")',
}


def asking(line: str, source: str = RIGHT) -> str:
    return "import torch\n" + source.replace("    opt.zero_grad()", f"    {line}\n    opt.zero_grad()")


def assert_the_same(trace: Trace, expected: Trace) -> None:
    assert trace.load_failure is None
    for name, run in expected.runs.items():
        played = trace.runs[name]
        assert played.failure is None
        assert played.facts == run.facts
        assert [event.kind for event in played.events] == [event.kind for event in run.events]
        for key, array in run.arrays.items():
            assert np.array_equal(played.arrays[key], array)


@pytest.mark.parametrize("line", ASKS.values(), ids=ASKS)
def test_a_line_that_asks_for_cuda_does_on_the_cpu_what_it_says(line: str) -> None:
    trace = traced(asking(line))
    assert_the_same(trace, traced(RIGHT))
    (note,) = trace.warnings
    assert note.startswith("4번째 줄: ")
    assert "GPU" in note


@pytest.mark.parametrize("line", ["xb = xb.pin_memory()", "torch.zeros(3, pin_memory=True)"])
def test_pinned_memory_alone_is_not_noted(line: str) -> None:
    """It asks for no other device: a note about `cuda` would be of something that the program does not say."""
    trace = traced(asking(line))
    assert_the_same(trace, traced(RIGHT))
    assert not trace.warnings
    (note,) = traced(asking(f"{line}; xb = xb.cuda()")).warnings
    assert not note.startswith("4번째 줄: ")


def test_a_mode_that_the_program_leaves_on_does_not_keep_the_translation() -> None:
    """In a notebook's kernel nobody else would end it."""
    in_force = torch._C._len_torch_function_stack()
    line = (
        "xb = xb.cuda(); from torch.overrides import BaseTorchFunctionMode as Mode; modes = [Mode(), Mode()]; "
        "[mode.__enter__() for mode in modes]"
    )
    traced(asking(line))
    left = []
    while torch._C._len_torch_function_stack() > in_force:
        left.append(type(torch._C._pop_torch_function_stack()).__name__)
    assert set(left) == {"BaseTorchFunctionMode"}


def test_what_is_asked_for_while_the_program_is_loaded_is_done_too() -> None:
    source = 'import torch\nW = torch.zeros(1, device="cuda")\nM = torch.nn.Linear(1, 1).cuda()\n'
    right = RIGHT.replace("model(xb)", "model(xb + W.to(xb))")
    trace = traced(source + right)
    assert_the_same(trace, traced(RIGHT))
    (note,) = trace.warnings
    assert note.startswith("2번째 줄: ")


@pytest.mark.parametrize(
    ("imported", "line"),
    [
        ("from torch.cuda import synchronize", "synchronize()"),
        ("from torch.cuda import current_device as here", "xb = xb.to(here())"),
        ("import torch; wait = torch.cuda.synchronize", "wait()"),
        ("from torch import Generator", 'Generator(device="cuda")'),
    ],
)
def test_a_function_imported_by_name_answers_too(imported: str, line: str) -> None:
    source = f"{imported}\n" + RIGHT.replace("    opt.zero_grad()", f"    {line}\n    opt.zero_grad()")
    program = load_program(source)
    names = dict(program.names)
    trace = play(EXERCISES["train_step"], program, seed=1)
    assert_the_same(trace, traced(RIGHT))
    (note,) = trace.warnings
    assert note.startswith("4번째 줄: ")
    assert {name: program.names[name] for name in names} == names  # torch's own again
    program.unload()


def test_a_default_device_of_the_whole_program_is_the_cpu() -> None:
    """The driver makes its models and batches after the program has been loaded."""
    trace = traced(f'import torch\ntorch.set_default_device("cuda")\n{RIGHT}')
    assert_the_same(trace, traced(RIGHT))
    (note,) = trace.warnings
    assert note.startswith("2번째 줄: ")


@pytest.mark.parametrize("line", ['torch.set_default_device("cuda")', 'torch.set_default_device("cpu")'])
def test_the_next_play_does_not_know_of_a_default_device(line: str) -> None:
    in_force = torch._C._len_torch_function_stack()
    trace = traced(asking(line))
    assert_the_same(trace, traced(RIGHT))
    assert len(trace.warnings) == ("cuda" in line)
    assert torch._C._len_torch_function_stack() == in_force
    assert torch.zeros(1).device == torch.get_default_device() == torch.device("cpu")


def test_a_file_is_loaded_onto_the_cpu() -> None:
    buffer = io.BytesIO()
    torch.save({"w": torch.ones(2)}, buffer)
    program = load_program(
        "import torch, io\n"
        "def read(data, place):\n    return torch.load(io.BytesIO(data), map_location=place)['w']\n"
        f"DATA = {buffer.getvalue()!r}\n"
        "A = read(DATA, 'cuda')\nB = read(DATA, torch.device('cuda:0'))\nC = read(DATA, {'cpu': 'cuda:0'})\n"
    )
    assert not program.failures
    assert all(torch.equal(program.names[name], torch.ones(2)) for name in "ABC")
    program.unload()


def test_gradients_by_hand_are_noted_once() -> None:
    """Torch comes to `autograd.grad` once more while requests are translated."""
    by_hand = RIGHT.replace(
        "    loss.backward()",
        "    ps = list(model.parameters())\n"
        "    for p, g in zip(ps, torch.autograd.grad(loss, ps)):\n        p.grad = g",
    )
    assert_the_same(traced(asking("xb = xb.cuda()", by_hand)), traced("import torch\n" + by_hand))


@pytest.mark.parametrize(
    "line",
    [
        'xb = xb.to("cuda" if torch.cuda.is_available() else "cpu")',
        "xb = xb.cuda() if torch.cuda.is_available() else xb",
        "torch.cuda.manual_seed_all(0); torch.cuda.empty_cache()",
        'assert not xb.is_cuda and torch.device("cuda").type == "cuda"',
    ],
)
def test_who_asks_whether_there_is_a_gpu_is_told_so(line: str) -> None:
    trace = traced(asking(line))
    assert_the_same(trace, traced(RIGHT))
    assert not trace.warnings


@pytest.mark.parametrize(
    "line", ['raise RuntimeError("Torch not compiled with CUDA enabled")', '{}["cuda"]', "torch.cuda.Event()"]
)
def test_other_failures_stay_what_they_are(line: str) -> None:
    trace = traced(asking(line))
    assert not trace.warnings
    failure = trace.runs["sgd"].failure
    assert failure is not None
    assert failure.line == 4


def test_a_program_is_translated_for_one_exercise_only() -> None:
    """What a note says of an exercise does not depend on which ones were played before it."""
    program = load_program(asking("xb = xb.cuda()"))
    first, second = (play(EXERCISES["train_step"], program, seed=1) for _ in range(2))
    assert first.warnings == second.warnings != []
    program.unload()


def test_afterwards_torch_refuses_as_before() -> None:
    functions = torch.cuda.synchronize, torch.cuda.current_device, torch.nn.Module.to, torch.Generator
    registry = list(torch.serialization._package_registry)
    traced(asking("torch.cuda.synchronize(); xb = xb.cuda()"))
    assert functions == (
        torch.cuda.synchronize,
        torch.cuda.current_device,
        torch.nn.Module.to,
        torch.Generator,
    )
    assert registry == torch.serialization._package_registry
    with pytest.raises((AssertionError, RuntimeError)):
        torch.zeros(1).cuda()
