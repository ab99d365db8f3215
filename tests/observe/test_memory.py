"""What forward passes keep alive is measured without changing it, whatever way a program takes to its gradients."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad
from torch.nn.functional import cross_entropy

from grader.observe.memory import HELD_BY_NAMES, GraphMeter

SAMPLES, PASSES = 4, 5
Batch = tuple[Tensor, Tensor]


class Watched:
    """A small model whose forward passes are measured."""

    def __init__(self, dtype: torch.dtype = torch.float64) -> None:
        self.model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).to(dtype)
        self.meter = GraphMeter()
        self.hooks = self.meter.watch(self.model)
        self.model.register_forward_hook(lambda _, __, outputs: self.meter.forwarded(outputs))
        first = next(self.model.parameters())
        first.register_post_accumulate_grad_hook(lambda _: self.meter.gradient())
        self.batches = [
            (torch.randn(SAMPLES, 5, dtype=dtype), torch.randint(3, (SAMPLES,))) for _ in range(PASSES)
        ]

    def loss(self, batch: Batch) -> Tensor:
        return cross_entropy(self.model(batch[0]), batch[1])


def one_at_a_time(watched: Watched) -> object:
    for batch in watched.batches:
        watched.loss(batch).backward()
    return None


def by_autograd_grad(watched: Watched) -> object:
    return [
        torch.autograd.grad(watched.loss(batch), list(watched.model.parameters()))
        for batch in watched.batches
    ]


def by_torch_func(watched: Watched) -> object:
    parameters = dict(watched.model.named_parameters())

    def loss(given: dict[str, Tensor], batch: Batch) -> Tensor:
        return cross_entropy(functional_call(watched.model, given, (batch[0],)), batch[1])

    return [grad(loss)(parameters, batch) for batch in watched.batches]


def under_autocast(watched: Watched) -> object:
    for batch in watched.batches:
        with torch.autocast("cpu", torch.bfloat16):
            loss = watched.loss(batch)
        loss.backward()
    return None


def with_a_cycle_of_its_own(watched: Watched) -> object:
    """Only the garbage collector frees what a cycle of the program's own objects holds."""
    for batch in watched.batches:
        held: dict[str, object] = {"loss": watched.loss(batch)}
        held["self"] = held
        held["loss"].backward()  # type: ignore[attr-defined]
    return None


def without_a_backward(watched: Watched) -> object:
    """A mistake of its own: the last pass is held by its name only."""
    for batch in watched.batches:
        loss = watched.loss(batch)
    return loss.item()


def one_backward(watched: Watched) -> object:
    torch.stack([watched.loss(batch) for batch in watched.batches]).mean().backward()
    return None


def joined(watched: Watched) -> object:
    inputs, targets = (torch.cat(parts) for parts in zip(*watched.batches, strict=True))
    watched.loss((inputs, targets)).backward()
    return None


def one_torch_func(watched: Watched) -> object:
    def loss(given: dict[str, Tensor]) -> Tensor:
        each = [cross_entropy(functional_call(watched.model, given, (xb,)), yb) for xb, yb in watched.batches]
        return torch.stack(each).mean()

    return grad(loss)(dict(watched.model.named_parameters()))


def retained(watched: Watched) -> object:
    losses = []
    for batch in watched.batches:
        losses.append(watched.loss(batch))
        losses[-1].backward(retain_graph=True)
    return None


def summed(watched: Watched) -> object:
    total = torch.zeros((), dtype=torch.float64)
    for batch in watched.batches:
        loss = watched.loss(batch)
        loss.backward()
        total = total + loss
    return total


@pytest.mark.parametrize(
    "program",
    [
        one_at_a_time,
        by_autograd_grad,
        by_torch_func,
        under_autocast,
        with_a_cycle_of_its_own,
        without_a_backward,
    ],
)
def test_one_at_a_time_is_seen_as_one(program: Callable[[Watched], object]) -> None:
    watched = Watched(torch.float32 if program is under_autocast else torch.float64)
    program(watched)
    assert watched.meter.samples == SAMPLES
    assert watched.meter.graphs <= HELD_BY_NAMES  # a cycle is looked for only beyond that


@pytest.mark.parametrize("program", [one_backward, one_torch_func, joined, retained])
def test_what_holds_the_window_is_seen(program: Callable[[Watched], object]) -> None:
    watched = Watched()
    program(watched)
    assert watched.meter.samples == PASSES * SAMPLES
    assert watched.meter.largest == (PASSES * SAMPLES if program is joined else SAMPLES)


def test_validation_with_graphs_is_no_micro_batch() -> None:
    watched = Watched()
    for batch in watched.batches:
        watched.model.train()
        watched.loss(batch).backward()
        watched.model.eval()
        held = watched.loss((torch.cat([batch[0]] * 2), torch.cat([batch[1]] * 2)))
    assert watched.meter.training_samples == watched.meter.training_largest == SAMPLES
    assert watched.meter.samples > SAMPLES
    assert held.requires_grad


def test_a_window_that_is_held_in_eval_mode_counts() -> None:
    """After a pass in train mode, too: a program may not hide a window by changing the mode."""
    watched = Watched()
    watched.loss(watched.batches[0]).backward()
    watched.model.eval()
    one_backward(watched)
    assert watched.meter.samples == PASSES * SAMPLES


def test_a_model_that_comes_in_eval_mode_is_measured_too() -> None:
    watched = Watched()
    watched.model.eval()
    one_backward(watched)
    assert watched.meter.samples == PASSES * SAMPLES


def test_a_submission_cannot_hide_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weakref.ref", lambda *_: lambda: None)
    watched = Watched()
    one_backward(watched)
    assert watched.meter.samples == PASSES * SAMPLES


def test_a_graph_that_backward_does_not_free_is_seen_at_once() -> None:
    watched = Watched()
    for batch in watched.batches:
        loss = watched.loss(batch)
        loss.backward(retain_graph=True)
    assert watched.meter.samples == 2 * SAMPLES


def test_losses_with_their_graphs_pile_up() -> None:
    watched = Watched()
    total = summed(watched)
    assert watched.meter.samples == SAMPLES  # backward has freed the activations
    assert watched.meter.graphs == PASSES - 1
    assert watched.meter.alive() == PASSES
    del total
    assert watched.meter.alive() == 0


def test_a_pass_without_a_graph_is_not_counted() -> None:
    watched = Watched()
    with torch.no_grad():
        one = [watched.loss(batch) for batch in watched.batches]
    assert len(one) == PASSES
    assert watched.meter.samples == watched.meter.graphs == 0


def test_measuring_changes_no_bit() -> None:
    """Not even of a second derivative, nor what an in-place change of a saved tensor raises."""
    torch.manual_seed(0)
    watched = Watched()
    plain = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()
    plain.load_state_dict(watched.model.state_dict())
    xb, yb = watched.batches[0]
    found = []
    for model in (watched.model, plain):
        loss = cross_entropy(model(xb), yb)
        first = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        second = torch.autograd.grad(sum(g.square().sum() for g in first), list(model.parameters()))
        found.append([*first, *second])
        hidden = model[:2](xb)
        outputs = model[2](hidden)
        hidden.data.zero_()
        with torch.no_grad():
            hidden.zero_()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            outputs.sum().backward()
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
