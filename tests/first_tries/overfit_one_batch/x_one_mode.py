# mistakes: strict-comparison, restores-top-only, leaves-gradients, mixes-given-gradients, mode-lost-on-error
# lines: 11, 16, 16, 8, 16
# hidden:
def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    was = model.training
    model.train()
    history = []
    for _ in range(max_steps):
        loss = loss_fn(model(xb), yb)
        history.append(loss.item())
        if loss.item() < target:
            break
        loss.backward()
        opt.step()
        opt.zero_grad()
    model.train(was)
    return history
