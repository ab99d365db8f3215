# mistakes: mode-lost-on-error, restores-top-only, stops-at-nan
# lines: 24, 24, 16
# hidden:


def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    was_training = model.training
    out = []
    opt.zero_grad()
    model.train()
    while len(out) < max_steps:
        loss = loss_fn(model(xb), yb)
        value = loss.item()
        out.append(value)
        # 목표에 닿았는지
        if not value > target:
            break
        loss.backward()
        opt.step()
        opt.zero_grad()

    # 모드 되돌리기

    model.train(was_training)
    return out
