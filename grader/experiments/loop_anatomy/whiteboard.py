"""The whiteboard of lesson 02: compare a float16 step written from memory with a computation by hand."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.experiments.loop_anatomy.digits import Batch, device, loss_fn, make_batches, make_model, on_cpu
from grader.experiments.vectors import apart, flat


def amp_by_hand(
    model: nn.Module, batches: list[Batch], *, lr: float, gamma: float, max_norm: float
) -> Tensor:
    """Compute the weights after some steps without scaler and optimizer: scale, divide, clip and subtract."""
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    for step, (xb, yb) in enumerate(batches):
        leaves = {name: w.clone().requires_grad_() for name, w in weights.items()}
        with torch.autocast(device.type, torch.float16):
            loss = loss_fn(torch.func.functional_call(model, leaves, (xb,)), yb)
        scale = 2.0 ** (10 + step)  # it doubles after each step
        grads = [grad / scale for grad in torch.autograd.grad(loss * scale, list(leaves.values()))]
        shrink = min(1.0, max_norm / (flat(grads).norm().item() + 1e-6))
        rate = lr * gamma**step
        weights = {name: w - rate * shrink * g for (name, w), g in zip(weights.items(), grads, strict=True)}
    return flat(weights.values())


def grade_amp(attempt: Callable[..., Any]) -> str:
    """Play three steps and a fourth that overflows, and say in Korean how they compare with those by hand."""
    model, batches = make_model(seed=24), make_batches(seed=24)[:4]
    start = flat(model.parameters())
    expected = amp_by_hand(model, batches[:3], lr=0.5, gamma=0.5, max_norm=0.2)
    batches[3] = (batches[3][0] * 1e6, batches[3][1])
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    scaler = torch.amp.GradScaler(device.type, init_scale=2.0**10, growth_interval=1)
    try:
        for xb, yb in batches:
            attempt(model, opt, scaler, scheduler, loss_fn, xb, yb, 0.2)
    except (RuntimeError, AssertionError) as error:
        return f"PyTorch가 멈췄습니다: {error}"
    result = flat(model.parameters())
    if torch.equal(result, start):
        return "매개변수가 움직이지 않았습니다. 아직 비어 있거나, 쓰기 전에 지운 것입니다."
    if not torch.isfinite(result).all():
        return "가중치가 inf나 NaN이 되었습니다. 넘친 스텝을 건너뛰는 것은 누구의 일일까요?"
    tolerance = 1e-7 if on_cpu else 1e-5  # on a CPU the same operations come in the same order
    if apart(result, expected) < tolerance and scaler.get_scale() == 2.0**12:
        return "모든 줄이 제자리에 있습니다. 가중치와 배율이 손 계산과 같습니다."
    return (
        f"움직이기는 했지만 손 계산과 {apart(result, expected):.0e}만큼 다릅니다. 스케일러의 네 호출과 클리핑하는 "
        "자리를 떠올리고, 지우기부터 스케줄러까지 다 있는지 보세요."
    )


_LINES = "ABCDEFGH"
_FIRST_THEN = (  # what comes first, what comes after it, and what goes wrong otherwise
    ("B", "G", "지우기는 역전파 앞이어야 합니다. 뒤에 오면 방금 구한 그레이디언트를 지웁니다."),
    ("E", "G", "역전파할 손실이 아직 없습니다. 순전파가 먼저입니다."),
    ("G", "A", "배율을 되돌리려면 `p.grad`가 있어야 합니다. 역전파가 먼저입니다."),
    ("A", "F", "65536배인 그레이디언트를 클리핑했습니다. 배율을 되돌리는 것이 먼저입니다."),
    ("F", "D", "업데이트한 다음에 클리핑했습니다. 이번 업데이트에는 소용이 없습니다."),
    (
        "D",
        "H",
        "`scaler.update()`는 이번 스텝에서 넘쳤는지 보고 다음 배율을 정합니다. `scaler.step` 다음입니다.",
    ),
    ("D", "C", "학습률은 업데이트한 다음에 다음 값으로 바꿉니다. 먼저 바꾸면 첫 학습률을 쓰지 않습니다."),
)


def grade_order(order: str) -> str:
    """Say in Korean whether the eight lines of a float16 step, by their letters, stand in a right order."""
    letters = "".join(order.split()).upper()
    if not letters:
        return "아직 비어 있습니다. order에 글자 여덟 개를 적으세요."
    if sorted(letters) != list(_LINES):
        return f"{_LINES[0]}부터 {_LINES[-1]}까지 여덟 글자를 한 번씩 적어 주세요."
    for first, then, why in _FIRST_THEN:
        if letters.index(first) > letters.index(then):
            return f"{then} 앞에 있어야 할 {first}: {why}"
    return "모든 줄이 제자리에 있습니다."
