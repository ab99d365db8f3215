def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps):
    if accum_steps < 1:
        raise ValueError("accum_steps >= 1")
    window, steps = [], 0

    def closure():
        opt.zero_grad(set_to_none=False)
        n = sum(len(y) for _, y in window)
        for x, y in window:
            (loss_fn(model(x), y) * len(y) / n).backward()

    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            opt.step(closure)
            steps += 1
            window.clear()
    if window:
        opt.step(closure)
        steps += 1
    opt.zero_grad(set_to_none=False)
    return steps
