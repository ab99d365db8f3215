# mistakes: stops-at-nan
# lines: 21
# hidden:
def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    modes_at_entry = {module: module.training for module in model.modules()}
    measured = []

    def clear():
        opt.zero_grad()
        model.zero_grad()

    def still_too_high(value):
        return value > target

    try:
        model.train()
        while len(measured) < max_steps:
            clear()
            loss = loss_fn(model(xb), yb)
            measured.append(loss.item())
            if not still_too_high(measured[-1]):
                break
            loss.backward()
            opt.step()
    finally:
        clear()
        for module, mode in modes_at_entry.items():
            module.training = mode
    return measured
