# mistakes: count-not-reset, mixes-given-gradients, accum-steps-not-checked
# lines: 23, 10, 8
# hidden:
import torch


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 0:
        raise ValueError("accum_steps가 너무 작습니다")
    updates = 0
    number_in_section = 0
    samples_in_section = 0

    def finish_section():
        # 샘플 수로 나누어 평균 그레이디언트로 만든다
        nonlocal updates, number_in_section
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad /= samples_in_section
        opt.step()
        opt.zero_grad()
        updates += 1
        number_in_section = 0

    for xb, yb in micro_batches:
        batch_loss = loss_fn(model(xb), yb)
        (batch_loss * len(xb)).backward()
        number_in_section += 1
        samples_in_section += len(xb)
        if number_in_section == accum_steps:
            finish_section()
    if number_in_section > 0:
        finish_section()
    return updates
