# mistakes: 업데이트한 뒤 모아 둔 구간을 비우지 않아서 다음 구간에 앞 구간이 섞임
# lines: 25
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")

    def update(window):
        opt.zero_grad()
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()

    opt.zero_grad()
    window = []
    count = 0
    for i, batch in enumerate(micro_batches):
        window.append(batch)
        if (i + 1) % accum_steps == 0:
            update(window)
            count += 1
    if len(window) % accum_steps != 0:
        update(window[-(len(window) % accum_steps):])
        count += 1
    return count
