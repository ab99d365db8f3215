# mistakes: no-accum-check, divides-by-batch-size, step-only-when-clipping, missing-zero-grad-after-step|leaves-gradients, drops-leftover|leaks-leftover|leaves-gradients
# lines: 7, 12, 18, 20, 20
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    opt.zero_grad()
    step_count = 0
    for i, (xb, yb) in enumerate(micro_batches):
        pred = model(xb)
        loss = loss_fn(pred, yb)
        loss = loss / len(xb)      # 평균을 내야 하니까
        loss.backward()

        if (i + 1) % accum_steps == 0:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                opt.step()
            step_count += 1
    return step_count
