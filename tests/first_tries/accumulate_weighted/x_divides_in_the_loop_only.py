# mistakes: leftover-not-divided, accum-steps-not-checked
# lines: 21, 5
# hidden:
def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    updates = 0
    seen = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb) * len(xb)
        loss.backward()
        seen += len(xb)
        if i % accum_steps == 0:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad /= seen
            opt.step()
            opt.zero_grad()
            updates += 1
            seen = 0
    if seen > 0:
        opt.step()
        opt.zero_grad()
        updates += 1
    return updates
