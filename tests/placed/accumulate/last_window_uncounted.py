import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps")
    number_of_updates = 0
    window = []
    opt.zero_grad()
    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            for x, y in window:
                (loss_fn(model(x), y) / len(window)).backward()
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            number_of_updates = number_of_updates + 1
            window = []
    if window:
        for x, y in window:
            (loss_fn(model(x), y) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()  # after: leftover-not-counted
    opt.zero_grad()
    return number_of_updates
