import torch


def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine"):
    match decay:
        case "cosine":
            ease = lambda p: (1 + torch.cos(torch.pi * p)) / 2
        case "linear":
            ease = lambda p: 1 - p
        case _:
            raise ValueError(decay)
    if step < warmup_steps:
        return torch.lerp(torch.tensor(initial_lr), torch.tensor(peak_lr), step / warmup_steps).item()
    if step >= total_steps - 1:
        return min_lr
    p = torch.tensor((step - warmup_steps) / (total_steps - 1 - warmup_steps))
    return (min_lr + (peak_lr - min_lr) * ease(p)).item()
