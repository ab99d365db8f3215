# expect: one-backward-per-window
import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError("at least one")
    batches = list(micro_batches)
    windows = [batches[i : i + accum_steps] for i in range(0, len(batches), accum_steps)]
    for window in windows:
        model.zero_grad()
        shares = torch.tensor([len(x) for x, _ in window], dtype=torch.float32)
        shares /= shares.sum()
        total = sum(share * loss_fn(model(x), y) for share, (x, y) in zip(shares.to(window[0][0].device), window))
        total.backward()
        opt.step()
    for p in model.parameters():
        p.grad = None
    return len(windows)
