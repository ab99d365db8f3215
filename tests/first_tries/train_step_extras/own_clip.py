# mistakes: softmax-before-loss, clip-scales-up, missing-scheduler-step
# lines: 8, 18, 23
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    out = model(xb).softmax(dim=1)
    loss = loss_fn(out, yb)
    loss.backward()
    if max_norm is not None:
        # 전체 노름을 직접 구해서 자른다
        total = 0.0
        for p in model.parameters():
            if p.grad is not None:
                total += (p.grad ** 2).sum()
        norm = torch.sqrt(total)
        scale = max_norm / norm
        for p in model.parameters():
            if p.grad is not None:
                p.grad *= scale
    opt.step()
    return loss.item()
