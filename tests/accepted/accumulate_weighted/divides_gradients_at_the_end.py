def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    steps = seen = samples = 0

    def update():
        for group in opt.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad /= samples
        opt.step()
        opt.zero_grad()

    opt.zero_grad()
    for xb, yb in micro_batches:
        (loss_fn(model(xb), yb) * yb.shape[0]).backward()
        samples += yb.shape[0]
        seen += 1
        if seen == accum_steps:
            update()
            steps, seen, samples = steps + 1, 0, 0
    if seen:
        update()
        steps += 1
    return steps
