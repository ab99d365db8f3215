"""The five lines from memory: compare what a learner wrote without looking with an update computed by hand."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from grader.experiments.five_line_step.data import Batch, loss_fn, make_batches, make_model
from grader.experiments.vectors import flat


def _by_hand(model: nn.Module, batches: Iterable[Batch], lr: float) -> Tensor:
    """Return the weights after SGD, computed with none of the five lines."""
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    for xb, yb in batches:
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        loss = loss_fn(torch.func.functional_call(model, leaves, (xb,)), yb)
        grads = torch.autograd.grad(loss, list(leaves.values()))
        weights = {name: w - lr * g for (name, w), g in zip(weights.items(), grads, strict=True)}
    return flat(weights.values())


def grade_whiteboard(attempt: Callable[..., object]) -> str:
    """Compare the weights after three steps; after a single one, a step that does not clear would look right."""
    model = make_model(seed=17).double()
    batches = [(xb.double(), yb) for xb, yb in make_batches(seed=17)[:3]]
    start, expected = flat(model.parameters()), _by_hand(model, batches, lr=0.1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for xb, yb in batches:
        attempt(model, opt, loss_fn, xb, yb)
    result = flat(model.parameters())
    if torch.equal(result, start):
        return "매개변수가 움직이지 않았습니다. step()을 부르지 않았거나, step()이 읽을 때 .grad가 비어 있었습니다."
    if torch.allclose(result, expected, rtol=0, atol=1e-9):
        return "다섯 줄을 바르게 썼습니다. 세 스텝 뒤의 가중치가 손 계산과 같습니다."
    return (
        "움직이기는 했지만 손 계산과 다릅니다. 줄마다 무엇을 읽고 무엇을 바꾸는지 1편의 표와 비교해 보세요."
    )
