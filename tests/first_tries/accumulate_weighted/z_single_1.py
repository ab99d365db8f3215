# mistakes: divides-by-all-samples
# lines: 8
# hidden:
def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps must be at least 1")
    batches = list(micro_batches)
    n_samples = sum(len(xb) for xb, _ in batches)
    updates = 0
    opt.zero_grad()
    model.zero_grad()
    for i, (xb, yb) in enumerate(batches, start=1):
        loss = loss_fn(model(xb), yb) * (len(xb) / n_samples)
        loss.backward()
        if i % accum_steps == 0 or i == len(batches):
            opt.step()
            opt.zero_grad()
            model.zero_grad()
            updates += 1
    return updates
