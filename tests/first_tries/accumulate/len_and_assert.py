# mistakes: wrong-exception, needs-len, leftover-divided-by-full
# lines: 7, 8, 13
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    assert accum_steps >= 1, "accum_steps는 1 이상이어야 합니다"
    n_batches = len(micro_batches)
    n_updates = 0

    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()

        # 구간이 끝났거나 마지막 배치이면 업데이트
        if i % accum_steps == 0 or i == n_batches:
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            n_updates += 1

    return n_updates
