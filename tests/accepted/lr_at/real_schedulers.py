import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    """PyTorch의 스케줄러를 step번 굴려 봅니다."""
    if decay not in ("cosine", "linear"):
        raise ValueError(decay)
    if step >= warmup_steps and step >= total_steps - 1:
        return min_lr
    length = total_steps - 1 - warmup_steps
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak_lr)
    if step < warmup_steps:
        schedule = LinearLR(opt, initial_lr / peak_lr, 1.0, total_iters=warmup_steps)
    elif decay == "cosine":
        schedule = CosineAnnealingLR(opt, T_max=length, eta_min=min_lr)
    else:
        schedule = LinearLR(opt, 1.0, min_lr / peak_lr, total_iters=length)
    for _ in range(step if step < warmup_steps else step - warmup_steps):
        opt.step()
        schedule.step()
    return opt.param_groups[0]["lr"]
