"""Lesson 04's solution against SAM as others published it, and against its own definition on one big batch."""

import copy
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from grader.exercises import driver_modules, load_driver
from grader.judging.compare_runs import find_difference
from grader.judging.solution import solution_source
from grader.observe.play import play, play_scenario
from grader.observe.program import load_program

EXERCISES = driver_modules("sam_accumulation")
STEPS = 50
BASES: dict[str, tuple[type[torch.optim.Optimizer], dict[str, float]]] = {
    "SGD": (torch.optim.SGD, {"lr": 0.1}),
    "momentum": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}),
    "AdamW": (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.05}),
}
Model = nn.Sequential
Batch = tuple[torch.Tensor, torch.Tensor]

LIBRARY_ATOL = 1e-8
"""pytorch-optimizer takes the norm in float32 whatever the weights are: measured 7e-10 after 50 updates."""


@cache
def solution() -> dict[str, Any]:
    """What the lesson's solution defines."""
    return dict(load_program(solution_source("04"), name="sam_solution").names)


@pytest.mark.parametrize("name", ["sharpness", "lambda_max"])
def test_every_call_must_use_the_model(name: str) -> None:
    """One that calls the model twice the first time and then never has not measured the second batch."""
    source = f"""
calls = []

def {name}(model, loss_fn, xb, yb, **options):
    calls.append(None)
    return float(sum(model(xb).sum() for _ in range(2))) if len(calls) == 1 else 0.0
"""
    run = play_scenario(load_driver(EXERCISES[name])["weights"], load_program(source, name="lazy"), seed=1)
    assert run.failure is None
    assert run.facts["부를 때마다 모델에 배치를 넣어 봄"] is False


def model() -> Model:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 4)).double()


def batches(count: int, size: int) -> list[Batch]:
    generator = torch.Generator().manual_seed(1)
    return [
        (
            torch.randn(size, 6, generator=generator, dtype=torch.float64),
            torch.randint(4, (size,), generator=generator),
        )
        for _ in range(count)
    ]


loss_fn = nn.functional.cross_entropy


def weights(net: Model) -> torch.Tensor:
    return torch.cat([p.detach().ravel() for p in net.parameters()])


def apart(one: Model, other: Model) -> float:
    return float((weights(one) - weights(other)).abs().max())


def trained(make: Callable[[Model], Any], step: Callable[[Model, Any, Batch], None]) -> Model:
    net = model()
    sam = make(net)
    for batch in batches(STEPS, 8):
        step(net, sam, batch)
    return net


def by_solution(net: Model, sam: Any, batch: Batch) -> None:
    solution()["sam_step"](net, sam, loss_fn, *batch)


def by_closure(net: Model, sam: Any, batch: Batch) -> None:
    def closure(backward: bool = True) -> torch.Tensor:
        loss = loss_fn(net(batch[0]), batch[1])
        if backward:
            sam.zero_grad()
            loss.backward()
        return loss

    closure()
    sam.step(closure)


# ---- what others published -----------------------------------------------------------------------


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("base", BASES)
def test_agrees_with_pytorch_optimizer(base: str, adaptive: bool) -> None:
    """50 updates with that package's SAM (and ASAM) end where the solution's end."""
    library = pytest.importorskip("pytorch_optimizer", reason="pytorch-optimizer is not installed")
    kind, kwargs = BASES[base]

    def theirs(net: Model) -> Any:
        return library.SAM(net.parameters(), kind, rho=0.05, adaptive=adaptive, **kwargs)

    def ours(net: Model) -> Any:
        return solution()["SAM"](net.parameters(), kind, rho=0.05, adaptive=adaptive, **kwargs)

    assert apart(trained(theirs, by_closure), trained(ours, by_solution)) < LIBRARY_ATOL


@pytest.mark.parametrize("base", BASES)
def test_agrees_with_sam_pytorch(base: str) -> None:
    """A second implementation, in float64 throughout; it stores e and subtracts it, and has no epsilon.

    Not every published SAM is this algorithm: heavyball 3.2.1 does not divide by the norm at all, torchzero 0.4.4
    divides each tensor by its own.
    """
    library = pytest.importorskip("sam", reason="sam-pytorch is not installed")
    kind, kwargs = BASES[base]

    def theirs(net: Model) -> Any:
        return library.SAM(net.parameters(), kind(net.parameters(), **kwargs), rho=0.05)

    def ours(net: Model) -> Any:
        return solution()["SAM"](net.parameters(), kind, rho=0.05, **kwargs)

    assert apart(trained(theirs, by_closure), trained(ours, by_solution)) < 1e-10


def test_a_published_class_passes_as_a_submission() -> None:
    """What is graded is behaviour: pytorch-optimizer's class, handed in as one's own, gets full marks."""
    pytest.importorskip("pytorch_optimizer", reason="pytorch-optimizer is not installed")
    wrapped = "from pytorch_optimizer import SAM as Published\n\n\nclass SAM(Published):\n    pass\n"
    driver = load_driver(EXERCISES["SAM"])
    programs = [load_program(wrapped, name="published"), load_program(_solution_text(), name="right")]
    try:
        for seed in range(3):
            theirs, right = (play(driver, program, seed=seed) for program in programs)
            for scenario in driver.scenarios:
                found = find_difference(theirs.runs[scenario.name], right.runs[scenario.name], scenario.atol)
                assert found is None, (scenario.name, found, theirs.runs[scenario.name].failure)
    finally:
        for program in programs:
            program.unload()


def _solution_text() -> str:
    return solution_source("04")


# ---- its own definition --------------------------------------------------------------------------


@pytest.mark.parametrize("base", BASES)
def test_accumulating_is_one_step_on_the_big_batch(base: str) -> None:
    """Four micro-batches and their concatenation lead to the same weights, update after update."""
    kind, kwargs = BASES[base]
    small, big = model(), model()
    sams = [solution()["SAM"](net.parameters(), kind, rho=0.1, **kwargs) for net in (small, big)]
    data = batches(4 * 20, 3)
    for start in range(0, len(data), 4):
        window = data[start : start + 4]
        losses = solution()["sam_accumulate"](small, sams[0], loss_fn, iter(window), 4)
        joined = torch.cat([xb for xb, _ in window]), torch.cat([yb for _, yb in window])
        loss = solution()["sam_step"](big, sams[1], loss_fn, *joined)
        assert losses == pytest.approx([loss], abs=1e-12)
        assert apart(small, big) < 1e-12


@pytest.mark.parametrize("base", BASES)
def test_resuming_continues_bit_for_bit(base: str, tmp_path: Path) -> None:
    """Weights and `state_dict` from a file, a scheduler rebuilt over them: as if nothing had happened."""
    kind, kwargs = BASES[base]
    make = solution()["SAM"]
    data = batches(12, 5)

    def schedule(sam: Any) -> torch.optim.lr_scheduler.LRScheduler:
        return torch.optim.lr_scheduler.CosineAnnealingLR(sam.base_optimizer, 12)

    def go(net: Model, sam: Any, scheduler: Any, part: list[Batch]) -> None:
        for batch in part:
            by_solution(net, sam, batch)
            scheduler.step()

    through = model()
    sam = make(through.parameters(), kind, **kwargs)
    scheduler = schedule(sam)
    go(through, sam, scheduler, data[:5])
    file = io.BytesIO()
    torch.save([through.state_dict(), sam.state_dict(), scheduler.state_dict()], file)
    go(through, sam, scheduler, data[5:])

    file.seek(0)
    saved = torch.load(file, weights_only=True)
    resumed = copy.deepcopy(model())
    sam = make(resumed.parameters(), kind, **kwargs)
    scheduler = schedule(sam)
    resumed.load_state_dict(saved[0])
    sam.load_state_dict(saved[1])
    scheduler.load_state_dict(saved[2])
    go(resumed, sam, scheduler, data[5:])
    assert torch.equal(weights(through), weights(resumed))
    assert sam.param_groups is sam.base_optimizer.param_groups
