# mistakes: divides-after-clip, flushes-empty-window, leaves-gradients|missing-zero-grad-after-step
# lines: 19, 29, 31
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError(f"accum_steps={accum_steps}")

    def update(window):
        """한 구간을 모두 역전파하고 한 번 업데이트합니다."""
        opt.zero_grad()
        for x, y in window:
            loss_fn(model(x), y).backward()
        if max_norm is not None:
            clip_grad_norm_(model.parameters(), max_norm)
        for p in model.parameters():
            if p.grad is not None:
                p.grad.div_(len(window))
        opt.step()

    window, steps = [], 0
    for batch in micro_batches:
        window.append(batch)
        if len(window) == accum_steps:
            update(window)
            steps += 1
            window = []
    update(window)  # 나머지
    steps += 1
    return steps
