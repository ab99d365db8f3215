# mistakes: reduces-every-time, mixes-given-gradients, returns-last
# lines: 15, 11, 27
# hidden:
import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    batches = list(micro_batches)
    n = len(batches)
    if n == 0:
        raise ValueError("마이크로 배치가 없습니다")

    last = n - 1
    for i, (x, y) in enumerate(batches):
        loss = loss_fn(ddp(x), y)
        if i < last:
            with ddp.no_sync():
                (loss / n).backward()
        else:
            # 마지막에서만 합친다
            (loss / n).backward()

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return loss.item()
