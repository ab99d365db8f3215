import torch


def guarded_step(opt, sched, history, *, factor=4.0, window=20):
    grads = [p.grad for group in opt.param_groups for p in group["params"] if p.grad is not None]
    norm = torch.stack([torch.linalg.vector_norm(g.double()) for g in grads]).norm().item()
    recent = torch.tensor(history[-window:], dtype=torch.float64)
    usual = len(recent) < window or norm <= factor * recent.quantile(0.5).item()
    take = bool(usual and abs(norm) != float("inf") and norm == norm)
    if take:
        history.append(norm)
        opt.step()
        sched.step()
    opt.zero_grad(set_to_none=False)
    return take
