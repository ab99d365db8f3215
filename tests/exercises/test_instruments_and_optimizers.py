"""The exercises of lesson 06, not in the course yet: the answers hold what their docstrings say, in float64."""

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from grader import paths

LESSON = paths.solutions_path("06_why_it_does_not_learn")


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def answer(part: str, name: str) -> Any:
    """Return a function or class of a part's solution."""
    source = (LESSON / f"{part}.py").read_text(encoding="utf-8").replace("\ncheck(", "\n# check(")
    names: dict[str, Any] = {}
    exec(compile(source, part, "exec"), names)
    return names[name]


def small_model() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def test_adamw_step_is_torchs_for_fifty_steps_also_for_those_that_join_late() -> None:
    step = answer("2_adamw", "adamw_step_")
    mine = [nn.Parameter(torch.randn(shape)) for shape in [(4, 3), (3,), ()]]
    theirs = [nn.Parameter(p.detach().clone()) for p in mine]
    settings = {"lr": 0.03, "betas": (0.8, 0.99), "eps": 1e-4, "weight_decay": 0.1}
    opt = torch.optim.AdamW(theirs, **settings)
    state: dict[int, Any] = {}
    for at in range(50):
        grads = [None if number == 1 and at < 7 else torch.randn_like(p) for number, p in enumerate(mine)]
        kept = [None if grad is None else grad.clone() for grad in grads]
        for p, grad in zip(theirs, grads, strict=True):
            p.grad = None if grad is None else grad.clone()
        step(mine, grads, state, **settings)
        opt.step()
        assert all(a is None or torch.equal(a, b) for a, b in zip(kept, grads, strict=True))
    # 50 steps of a few operations each: rounding stays far below this.
    assert all((a - b).abs().max() < 1e-13 for a, b in zip(mine, theirs, strict=True))
    assert [state[number]["step"] for number in range(3)] == [50, 43, 50]


@pytest.mark.parametrize("shape", [(16, 16), (40, 12), (12, 40), (1, 5)])
def test_newton_schulz_keeps_the_directions_and_levels_the_singular_values(shape: tuple[int, int]) -> None:
    levelled = answer("3_muon", "newton_schulz")
    matrix = torch.randn(shape)
    before = matrix.clone()
    out = levelled(matrix)
    assert torch.equal(matrix, before)
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    inside = left.mT @ out @ right.mT
    assert (inside - inside.diag().diag()).abs().max() < 1e-9
    counted = inside.diag()[values / matrix.norm() > 0.002]
    assert counted.min() > 0.68
    assert counted.max() < 1.21
    assert torch.equal(levelled(torch.zeros(shape)), torch.zeros(shape))


class Tied(nn.Module):
    """Embedding and head share a tensor, and one layer is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.first = nn.Linear(4, 4)
        self.again = self.first
        self.norm = nn.LayerNorm((2, 4))
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight


def test_muon_gets_the_inner_matrices_only() -> None:
    groups = answer("3_muon", "muon_groups")
    model = Tied()
    inner, rest = groups(model)
    # A norm of two dimensions has two-dimensional scales: the rule counts dimensions only.
    assert [id(p) for p in inner] == [id(p) for p in (model.first.weight, model.norm.weight, model.norm.bias)]
    assert [id(p) for p in rest] == [id(p) for p in (model.embed.weight, model.first.bias)]
    with pytest.raises(KeyError):
        groups(model, head="out")


def test_average_follows_copies_buffers_and_stays_its_own() -> None:
    update = answer("4_averaged_weights", "ema_update_")
    model, ema = small_model(), small_model()
    ratios = []
    for step in range(40):
        with torch.no_grad():
            for p in model.parameters():
                p.add_(torch.randn_like(p))
        model(torch.randn(5, 6))
        before = [p.detach().clone() for p in ema.parameters()]
        own = [p.data_ptr() for p in ema.parameters()]
        ratios.append(update(ema, model, 0.7, step))
        for old, mean, now in zip(before, ema.parameters(), model.parameters(), strict=True):
            assert (mean - (ratios[-1] * old + (1 - ratios[-1]) * now)).abs().max() < 1e-14
            assert mean.grad_fn is None
        assert all(torch.equal(a, b) for a, b in zip(ema.buffers(), model.buffers(), strict=True))
        assert own == [p.data_ptr() for p in ema.parameters()]
    assert ratios[0] == pytest.approx(0.1)
    assert ratios[-1] == 0.7


class Overflowing(nn.Module):
    """The second layer overflows; the third makes NaN of it."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm, self.b, self.c = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3), nn.Softmax(1)
        with torch.no_grad():
            self.b.weight[0, 0] = math.inf

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(self.b(self.norm(self.a(x))))


def test_first_bad_layer_is_the_one_that_made_it_and_nothing_changes() -> None:
    first = answer("5_first_nan", "first_bad_layer")
    model = Overflowing()
    before = copy.deepcopy(model.state_dict())
    batch = torch.randn(4, 3)
    random = torch.get_rng_state()
    assert first(model, batch) == "b"
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(one, model.state_dict()[name]) for name, one in before.items())
    assert not any(layer._forward_hooks for layer in model.modules())
    assert first(small_model(), torch.randn(4, 6)) is None
    assert first(small_model(), torch.full((4, 6), math.nan)) is None
    with pytest.raises(RuntimeError):
        first(small_model(), torch.randn(4, 5))


def test_guarded_step_skips_without_a_trace() -> None:
    step = answer("6_spikes", "guarded_step")
    model = small_model()
    opt = torch.optim.AdamW(model.parameters())
    sched = torch.optim.lr_scheduler.StepLR(opt, 1)
    history: list[float] = []
    for at in range(30):
        model(torch.randn(8, 6)).square().mean().backward()
        scale = {12: 1e6, 24: 1e6, 26: math.nan}.get(at, 1.0)
        for p in model.parameters():
            assert p.grad is not None
            p.grad *= scale
        before = copy.deepcopy((model.state_dict(), opt.state_dict(), sched.state_dict(), history))
        went = step(opt, sched, history, window=20)
        assert went is (at not in (24, 26)), "the spike at 12 comes before the window is full"
        assert all(p.grad is None for p in model.parameters())
        if not went:
            after = (model.state_dict(), opt.state_dict(), sched.state_dict(), history)
            assert str(after) == str(before)
    assert len(history) == 28


def test_dashboard_changes_nothing_and_reads_training_passes_only() -> None:
    dashboard = answer("1_instruments", "Dashboard")
    batch = torch.randn(5, 6)
    with_it, without = small_model(), small_model()
    without.load_state_dict(with_it.state_dict())
    board = dashboard(with_it)
    for model in (with_it, without):
        model(batch).square().mean().backward()
    assert all(
        torch.equal(a.grad, b.grad) for a, b in zip(with_it.parameters(), without.parameters(), strict=True)
    )
    told = board.read(lr=0.1)
    assert told.keys() == {"0", "1", "3"}
    layer: Any = with_it[0]
    norm = torch.cat([layer.weight.grad.flatten(), layer.bias.grad]).norm().item()
    size = torch.cat([layer.weight.flatten(), layer.bias]).norm().item()
    assert told["0"]["grad_norm"] == pytest.approx(norm, rel=1e-12)
    assert told["0"]["update_ratio"] == pytest.approx(0.1 * norm / size, rel=1e-12)
    with_it.eval()
    with_it(torch.randn(50, 6))
    with_it.train()
    with torch.no_grad():
        with_it(torch.randn(50, 6))
    assert board.read(lr=0.1) == told
    board.close()
    board.close()
    assert not any(layer._forward_hooks for layer in with_it.modules())
