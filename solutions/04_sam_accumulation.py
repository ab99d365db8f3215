# ---
# jupyter:
#   jupytext:
#     cell_markers: '"""'
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
r"""
# SAM과 그레이디언트 누적
"""

# %%
import math
from itertools import islice

import torch
from torch.nn.utils import clip_grad_norm_

from grader import check, hint


# %% tags=["exercise:SAM"]
class SAM(torch.optim.Optimizer):
    """가중치를 두 걸음으로 옮기는 옵티마이저입니다. 두 걸음 사이에 부르는 쪽이 그레이디언트를 다시 구합니다.

    base_optimizer: torch.optim.SGD 같은 클래스입니다. 남은 인자(lr 등)로 여기서 만듭니다.
    rho: 올라가는 거리입니다. 0보다 작으면 ValueError를 냅니다.
    adaptive: True이면 ASAM입니다. 가중치의 크기에 맞추어 올라갑니다.
    """

    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        # BEGIN SOLUTION
        if rho < 0:
            raise ValueError(f"rho는 0 이상이어야 합니다: {rho}")
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        # 그룹과 상태를 함께 씁니다. 스케줄러를 어느 쪽에 걸어도 같습니다
        self.param_groups = self.base_optimizer.param_groups
        self.state = self.base_optimizer.state
        self.before = {}
        # END SOLUTION

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        """w에서 w + e로 올라가고, w를 적어 둡니다.

        e = ρ·g / ‖g‖. 노름은 모든 매개변수를 합친 하나입니다.
        adaptive이면 e = ρ·w²·g / ‖|w|·g‖ 입니다(w², |w|는 성분마다).
        그레이디언트가 None인 매개변수는 건드리지 않습니다. 그레이디언트가 모두 0이면 움직이지 않습니다.
        """
        # BEGIN SOLUTION
        squares = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.abs() * p.grad if group["adaptive"] else p.grad
                squares.append(g.square().sum())
        # 노름은 하나입니다. 텐서마다 따로 구하지 않습니다
        norm = math.sqrt(sum(squares))

        for group in self.param_groups:
            # 그레이디언트가 0이어도 0으로 나누지 않습니다
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                e = p.square() * p.grad if group["adaptive"] else p.grad
                self.before[p] = p.clone()
                p.add_(e * scale)
        if zero_grad:
            self.zero_grad()
        # END SOLUTION

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        """적어 둔 w로 모두 되돌린 다음, w + e에서 구한 그레이디언트로 base_optimizer가 한 스텝을 합니다."""
        # BEGIN SOLUTION
        # .grad가 None이 된 매개변수도 되돌립니다
        for p, before in self.before.items():
            p.copy_(before)
        self.before.clear()
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()
        # END SOLUTION

    def state_dict(self):
        """저장할 것을 돌려줍니다. base_optimizer의 상태(모멘텀 등)가 들어 있습니다."""
        # BEGIN SOLUTION
        return self.base_optimizer.state_dict()
        # END SOLUTION

    def load_state_dict(self, state_dict):
        """state_dict()가 돌려준 것을 읽어, 거기서부터 이어서 학습할 수 있게 합니다."""
        # BEGIN SOLUTION
        self.base_optimizer.load_state_dict(state_dict)
        # 읽으면 그룹과 상태가 새것으로 바뀝니다. 다시 함께 씁니다
        self.param_groups = self.base_optimizer.param_groups
        self.state = self.base_optimizer.state
        # END SOLUTION


# %% tags=["check"]
check(SAM)


# %% tags=["exercise:sam_step"]
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    """미니 배치 하나로 SAM 업데이트를 한 번 하고, 옮기기 전의 w에서 잰 손실을 float로 돌려줍니다.

    sam: 연습 SAM과 같은 인터페이스입니다(first_step, second_step, zero_grad, param_groups).
    """
    # BEGIN SOLUTION
    sam.zero_grad()
    # 첫째: w에서 구한 그레이디언트로 올라갈 방향을 정합니다
    loss = loss_fn(model(xb), yb)
    loss.backward()
    sam.first_step(zero_grad=True)
    # 둘째: w + e에서 순전파부터 다시 합니다
    perturbed_loss = loss_fn(model(xb), yb)
    perturbed_loss.backward()
    sam.second_step(zero_grad=True)
    return loss.item()
    # END SOLUTION


# %% tags=["check"]
check(sam_step)


# %% tags=["exercise:sam_accumulate"]
def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    """마이크로 배치 accum_steps개(한 구간)마다 SAM 업데이트를 한 번 하고, 구간마다의 손실을 리스트로 돌려줍니다.

    micro_batches: (xb, yb)를 차례로 내는 이터러블입니다. 제너레이터일 수도 있습니다(한 번만 돌 수 있습니다).
    max_norm: 값이 있으면 구간마다 한 번, 업데이트에 쓸 그레이디언트를 자릅니다.

    두 걸음 모두 구간의 마이크로 배치를 전부 봅니다. 마지막 구간이 짧으면 거기에 있는 것으로 평균을 냅니다.
    돌려주는 손실은 w에서 잰 것의 구간 평균입니다. 구간을 이어 붙인 배치에 sam_step을 한 것과 같습니다.
    """
    # BEGIN SOLUTION
    losses = []
    stream = iter(micro_batches)
    sam.zero_grad()
    # 구간을 리스트로 들고 있어야 두 번 볼 수 있습니다
    while window := list(islice(stream, accum_steps)):
        window_loss = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / len(window)).backward()
            window_loss += loss.item() / len(window)
        sam.first_step(zero_grad=True)

        for xb, yb in window:
            perturbed_loss = loss_fn(model(xb), yb)
            (perturbed_loss / len(window)).backward()
        # 업데이트에 쓰이는 것은 두 번째 그레이디언트입니다
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(window_loss)
    return losses
    # END SOLUTION


# %% tags=["check"]
check(sam_accumulate)


# %% tags=["exercise:sharpness"]
def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    """L(w + ρ·g/‖g‖) − L(w)를 float로 돌려줍니다. 들어올 때의 모드와 난수 상태에서 두 손실을 잽니다.

    가중치, 그레이디언트, 모드, 배치 정규화의 이동 통계량, 난수 상태를 들어올 때 그대로 둡니다.
    """
    # BEGIN SOLUTION
    params = [p for p in model.parameters() if p.requires_grad]
    weights = [p.detach().clone() for p in params]
    buffers = [b.clone() for b in model.buffers()]

    # fork_rng: 블록이 끝나면 난수 상태가 블록 앞으로 돌아갑니다
    with torch.random.fork_rng():
        loss = loss_fn(model(xb), yb)
    # .grad에 더하지 않고 그레이디언트만 받습니다
    grads = torch.autograd.grad(loss, params)
    norm = math.sqrt(sum(g.square().sum() for g in grads))

    with torch.no_grad():
        for p, g in zip(params, grads, strict=True):
            p.add_(g * (rho / (norm + 1e-12)))
        # 같은 난수 상태에서 다시 재므로 드롭아웃 마스크도 같습니다
        with torch.random.fork_rng():
            perturbed_loss = loss_fn(model(xb), yb)
        for p, w in zip(params, weights, strict=True):
            p.copy_(w)
        for b, before in zip(model.buffers(), buffers, strict=True):
            b.copy_(before)
    return perturbed_loss.item() - loss.item()
    # END SOLUTION


# %% tags=["check"]
check(sharpness)


# %% tags=["exercise:train_qa"]
def train_qa(
    model,
    sam,
    train_loader,
    dev_loader,
    *,
    epochs,
    accum_steps,
    scheduler=None,
    max_norm=1.0,
    checkpoint_path,
) -> dict:
    """추출형 질의응답 모델을 SAM과 누적으로 학습합니다.

    배치는 input_ids, attention_mask, start_positions, end_positions를 담은 dict이고, 손실은 model(**batch).loss입니다.
    scheduler: 있으면 업데이트마다 한 번 step()을 부릅니다.
    checkpoint_path: 검증 손실이 가장 낮은 에폭의 model.state_dict()를 저장합니다.

    돌려주는 dict:
        train_losses    에폭마다, w에서 잰 손실의 샘플 평균
        dev_losses      에폭마다, 평가 모드에서 잰 검증 손실의 샘플 평균
        best_epoch      검증 손실이 가장 낮은 에폭(0부터)
    끝나면 모델은 학습 모드입니다.
    """
    # BEGIN SOLUTION
    train_losses, dev_losses = [], []
    best_epoch = None
    for epoch in range(epochs):
        model.train()
        total, num_samples = 0.0, 0
        stream = iter(train_loader)
        while window := list(islice(stream, accum_steps)):
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                total += loss.item() * len(batch["input_ids"])
                num_samples += len(batch["input_ids"])
            sam.first_step(zero_grad=True)

            for batch in window:
                perturbed_loss = model(**batch).loss
                (perturbed_loss / len(window)).backward()
            clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        train_losses.append(total / num_samples)

        model.eval()
        # 에폭마다 새로 셉니다
        dev_total, dev_samples = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                dev_loss = model(**batch).loss
                dev_total += dev_loss.item() * len(batch["input_ids"])
                dev_samples += len(batch["input_ids"])
        dev_losses.append(dev_total / dev_samples)
        if best_epoch is None or dev_losses[-1] < dev_losses[best_epoch]:
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
    # END SOLUTION


# %% tags=["check"]
check(train_qa)
