# mistakes: forces-train-mode, missing-zero-grad, returns-loss-after-update
# lines: 9, 12, 20
# hidden:
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    # Make sure that dropout and batch norm are active
    model.train()

    # Forward pass
    predictions = model(xb)
    loss = loss_fn(predictions, yb)

    # Backward pass
    loss.backward()
    opt.step()

    with torch.no_grad():
        loss = loss_fn(model(xb), yb)
    return loss.item()
