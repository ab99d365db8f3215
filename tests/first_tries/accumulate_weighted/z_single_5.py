# mistakes: mixes-given-gradients
# lines: 7
# hidden:
def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be >= 1")
    updates = 0
    window = []

    def run():
        total = sum(len(xb) for xb, _ in window)
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) * len(xb) / total
            loss.backward()
        opt.step()
        opt.zero_grad()
        model.zero_grad()
        window.clear()

    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            run()
            updates += 1
    if window:
        run()
        updates += 1
    opt.zero_grad()
    model.zero_grad()
    return updates
