import torch


def evaluate(model, loss_fn, loader):
    was = [m.training for m in model.modules()]
    model.eval()
    total_loss = total_acc = n = 0
    try:
        for input, target in loader:
            with torch.no_grad():
                input = input.clone()
                target = target.clone()
            output = model(input)  # here: missing-no-grad
            loss = loss_fn(output, target)
            total_loss += loss.item() * target.size(0)
            total_acc += (output.argmax(dim=1) == target).sum().item()
            n += target.size(0)
    finally:
        for m, t in zip(model.modules(), was):
            m.training = t
    return total_loss / n, total_acc / n
