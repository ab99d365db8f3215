# mistakes: strict-comparison, leaves-gradients, mode-lost-on-error
# lines: 19, 29, 27
# hidden:
import torch


def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps) -> list[float]:
    # 모듈마다 원래 모드를 기억해 둔다
    mode_of_each_module = {module: module.training for module in model.modules()}
    model.train()
    opt.zero_grad()

    measured_losses = []
    number_of_updates = 0
    while number_of_updates < max_steps:
        loss = loss_fn(model(xb), yb)
        current_loss = loss.item()
        measured_losses.append(current_loss)
        if current_loss < target:
            break
        opt.zero_grad()
        loss.backward()
        opt.step()
        number_of_updates += 1

    # 모드를 되돌린다
    for module, was_training in mode_of_each_module.items():
        module.training = was_training
    return measured_losses
