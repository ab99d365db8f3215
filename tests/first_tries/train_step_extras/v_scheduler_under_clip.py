# mistakes: clip-by-value, scheduler-only-when-clipping, returns-loss-over-batch
# lines: 15, 17, 20
# hidden:
import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad(set_to_none=True)
    y_hat = model(xb)
    loss = loss_fn(y_hat, yb)
    loss.backward()
    if max_norm is None:
        opt.step()
    else:
        torch.nn.utils.clip_grad_value_(model.parameters(), max_norm)
        opt.step()
        if scheduler is not None:
            scheduler.step()
    # 샘플 하나의 손실
    return loss.item() / len(xb)
