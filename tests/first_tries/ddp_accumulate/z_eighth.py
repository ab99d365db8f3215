# mistakes: mixes-given-gradients, divides-loss-twice, clips-each
# lines: 11, 30, 26
# hidden:
import torch


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None) -> float:
    batches = list(micro_batches)
    if not batches:
        raise ValueError("마이크로 배치가 없습니다")
    n = len(batches)

    running = 0.0
    for index, (x, y) in enumerate(batches):
        if index == n - 1:
            # 마지막에서만 그레이디언트를 합친다
            loss = loss_fn(ddp(x), y) / n
            loss.backward()
            running += loss.item()
        else:
            with ddp.no_sync():
                loss = loss_fn(ddp(x), y) / n
                loss.backward()
                running += loss.item()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(ddp.parameters(), max_norm)

    opt.step()
    opt.zero_grad()
    return running / n
