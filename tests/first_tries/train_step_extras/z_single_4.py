# mistakes: sums-norms
# lines: 11
# hidden:
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        with_grad = [p for p in model.parameters() if p.grad is not None]
        # 모든 그레이디언트를 합친 노름
        total = sum(p.grad.norm().item() for p in with_grad)
        if total > max_norm:
            for p in with_grad:
                p.grad.mul_(max_norm / (total + 1e-6))
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()
