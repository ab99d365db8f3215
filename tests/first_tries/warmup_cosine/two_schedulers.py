# mistakes: cosine-never-ends, ramp-of-its-own, cosine-over-total
# lines: 8, 9, 10
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


def warmup_cosine(opt, warmup_steps, total_steps):
    if warmup_steps == 0:
        return CosineAnnealingLR(opt, T_max=total_steps)
    rising = LinearLR(opt, start_factor=0.01, total_iters=warmup_steps)
    falling = CosineAnnealingLR(opt, T_max=total_steps)
    return SequentialLR(opt, schedulers=[rising, falling], milestones=[warmup_steps])
