# mistakes: merges-leftover
# lines: 7
# hidden:
def _windows(batches, size):
    cut = [batches[i : i + size] for i in range(0, len(batches), size)]
    if len(cut) > 1 and len(cut[-1]) < size:
        tail = cut.pop()
        cut[-1] = cut[-1] + tail
    return cut


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError(accum_steps)

    def clear():
        opt.zero_grad()
        model.zero_grad()

    clear()
    count = 0
    for window in _windows(list(micro_batches), accum_steps):
        total = sum(xb.shape[0] for xb, _ in window)
        for xb, yb in window:
            weight = xb.shape[0] / total
            (weight * loss_fn(model(xb), yb)).backward()
        opt.step()
        clear()
        count += 1
    return count
