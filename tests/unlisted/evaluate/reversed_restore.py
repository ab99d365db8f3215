# mistakes: 모드를 거꾸로 되돌려서, 부모의 train(mode)가 먼저 되돌린 자식의 모드를 덮어씀
# lines: 18
import torch


def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    loss_sum, correct, seen = 0.0, 0, 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                loss_sum += loss_fn(logits, yb).item() * len(xb)
                correct += (logits.argmax(dim=1) == yb).sum().item()
                seen += len(xb)
    finally:
        for module, mode in reversed(modes):
            module.train(mode)
    return loss_sum / seen, correct / seen
