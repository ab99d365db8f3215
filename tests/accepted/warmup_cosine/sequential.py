from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LinearLR, SequentialLR


def warmup_cosine(opt, warmup_steps, total_steps):
    schedulers = []
    milestones = []
    if warmup_steps > 0:
        schedulers.append(LinearLR(opt, start_factor=1 / warmup_steps, total_iters=max(1, warmup_steps - 1)))
        milestones.append(warmup_steps)
    if total_steps > warmup_steps:
        schedulers.append(CosineAnnealingLR(opt, T_max=total_steps - warmup_steps))
        milestones.append(total_steps)
    schedulers.append(ConstantLR(opt, factor=0.0, total_iters=10**9))
    return SequentialLR(opt, schedulers, milestones=milestones)
