# mistakes: 구간의 샘플 수를 첫 마이크로 배치의 크기 × 개수로 셈
# lines: 11
def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps):
    if accum_steps < 1:
        raise ValueError(accum_steps)
    batches = list(micro_batches)
    opt.zero_grad()
    steps = 0
    for start in range(0, len(batches), accum_steps):
        window = batches[start : start + accum_steps]
        total = len(window[0][0]) * len(window)
        for xb, yb in window:
            part = loss_fn(model(xb), yb) * (len(xb) / total)
            part.backward()
        opt.step()
        opt.zero_grad()
        steps += 1
    return steps
