# mistakes: wrong-exception, clip-per-parameter, flushes-empty-window
# lines: 7, 15, 29
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    assert accum_steps >= 1, "accum_steps >= 1 이어야 함"

    def flush(batches):
        for x, y in batches:
            out = model(x)
            (loss_fn(out, y) / len(batches)).backward()
        if max_norm is not None:
            for p in model.parameters():
                torch.nn.utils.clip_grad_norm_(p, max_norm)
        opt.step()
        opt.zero_grad()

    buf = []
    num_updates = 0
    for batch in micro_batches:
        buf.append(batch)
        if len(buf) == accum_steps:
            flush(buf)
            num_updates += 1
            buf = []

    # 남은 배치도 잊지 말기!
    flush(buf)
    num_updates += 1
    return num_updates
