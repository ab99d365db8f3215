# mistakes: mean-of-batch-means, mode-lost-on-error
# lines: 25, 22
# hidden:
import torch


@torch.no_grad()
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    # 모듈마다 모드를 적어 둔다
    modes = [(m, m.training) for m in model.modules()]
    model.eval()

    losses = []
    hit, seen = 0, 0
    for xb, yb in loader:
        logits = model(xb)
        losses.append(loss_fn(logits, yb).item())
        hit += (logits.argmax(dim=1) == yb).sum().item()
        seen += yb.size(0)

    # 원래 모드로
    for m, flag in modes:
        m.training = flag

    return sum(losses) / len(losses), hit / seen
