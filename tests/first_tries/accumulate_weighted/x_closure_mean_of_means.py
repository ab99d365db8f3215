# mistakes: mean-of-means, mixes-given-gradients, forces-train-mode
# lines: 13, 17, 7
# hidden:
def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    model.train()
    n_updates = 0
    window = []

    def flush():
        for x, y in window:
            (loss_fn(model(x), y) / len(window)).backward()
        opt.step()
        opt.zero_grad(set_to_none=True)

    for pair in micro_batches:
        window.append(pair)
        if len(window) == accum_steps:
            flush()
            window = []
            n_updates += 1
    if window:
        flush()
        n_updates += 1
    return n_updates
