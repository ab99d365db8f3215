# mistakes: reduces-every-time, divides-loss-twice
# lines: 16, 29
# hidden:
import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    micro_batches = list(micro_batches)
    n = len(micro_batches)
    if n == 0:
        raise ValueError("마이크로 배치가 없습니다")

    opt.zero_grad()
    mean_loss = 0.0
    for i, (x, y) in enumerate(micro_batches):
        loss = loss_fn(ddp(x), y) / n
        if i < n - 1:
            # 마지막이 아니면 통신하지 않는다
            with ddp.no_sync():
                loss.backward()
        else:
            loss.backward()
        mean_loss += loss.item()
        del loss

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(ddp.module.parameters(), max_norm)
    opt.step()
    return mean_loss / n
