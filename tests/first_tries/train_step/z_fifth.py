# mistakes: unlisted(clears only if all parameters have a gradient), returns-loss-after-update
# lines: 12, 19
# hidden:
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    def current_loss():
        return loss_fn(model(xb), yb)

    # 처음에는 .grad가 비어 있으니 지울 것이 없다
    already_used = all(p.grad is not None for p in model.parameters())
    if already_used:
        opt.zero_grad()

    current_loss().backward()
    opt.step()
    with torch.no_grad():
        return float(current_loss())
