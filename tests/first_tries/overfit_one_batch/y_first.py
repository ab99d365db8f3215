# mistakes: leaves-gradients, restores-top-only, stops-at-nan
# lines: 23, 22, 16
# hidden:
def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    was_training = model.training
    model.train()
    curve = []
    try:
        for _ in range(max_steps):
            model.zero_grad()
            loss = loss_fn(model(xb), yb)
            value = loss.item()
            curve.append(value)

            # 아직 목표보다 크면 한 걸음 더
            if value > target:
                loss.backward()
                opt.step()
            else:
                break
    finally:
        model.train(was_training)
    return curve
