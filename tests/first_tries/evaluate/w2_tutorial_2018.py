# mistakes: missing-no-grad, softmax-before-loss, missing-sample-weight, restores-one-mode
# lines: 15, 16, 17, 22
# hidden:
import torch
import torch.nn.functional as F


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    was_training = model.training
    model.eval()
    test_loss = 0
    correct = 0
    total = 0
    try:
        for data, target in loader:
            output = F.softmax(model(data), dim=1)
            test_loss += loss_fn(output, target).item()
            pred = output.max(1, keepdim=True)[1]
            correct += pred.eq(target.view_as(pred)).sum().item()
            total += target.size(0)
    finally:
        model.train(was_training)
    test_loss /= total
    return test_loss, correct / total
