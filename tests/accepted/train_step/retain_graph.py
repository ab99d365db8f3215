from torch.optim import Optimizer


def train_step(model, opt: Optimizer, loss_fn, xb, yb) -> float:
    opt.zero_grad(set_to_none=True)
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward(retain_graph=True)
    opt.step()
    del logits
    return loss.item()
