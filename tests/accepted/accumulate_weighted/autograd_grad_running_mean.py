import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps):
    if accum_steps <= 0:
        raise ValueError(accum_steps)
    params = list(model.parameters())
    source = iter(micro_batches)
    count = 0
    done = False
    while not done:
        mean = [torch.zeros_like(p) for p in params]
        n = 0
        for _ in range(accum_steps):
            batch = next(source, None)
            if batch is None:
                done = True
                break
            xb, yb = batch
            grads = torch.autograd.grad(loss_fn(model(xb), yb), params)
            n += len(xb)
            share = len(xb) / n
            mean = [m + (g - m) * share for m, g in zip(mean, grads)]
        if n:
            for p, m in zip(params, mean):
                p.grad = m
            opt.step()
            count += 1
    opt.zero_grad()
    return count
