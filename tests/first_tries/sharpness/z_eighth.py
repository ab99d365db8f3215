# mistakes: different-masks
# lines: 36
# hidden:
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    old_params = [p.detach().clone() for p in params]
    old_buffers = [(b, b.detach().clone()) for b in model.buffers()]
    cpu_state = torch.get_rng_state()
    gpu_states = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []

    def restore_rng():
        torch.set_rng_state(cpu_state)
        if gpu_states:
            torch.cuda.set_rng_state_all(gpu_states)

    def restore_tensors():
        with torch.no_grad():
            for p, old in zip(params, old_params):
                p.copy_(old)
            for b, old in old_buffers:
                b.copy_(old)

    try:
        with torch.enable_grad():
            before = loss_fn(model(xb), yb)
        # .grad를 건드리지 않으려고 autograd.grad를 쓴다
        grads = torch.autograd.grad(before, params, allow_unused=True)
        norm = sum(g.pow(2).sum().item() for g in grads if g is not None) ** 0.5
        with torch.no_grad():
            if norm != 0:
                for p, g in zip(params, grads):
                    if g is not None:
                        p.add_(g, alpha=rho / norm)
            after = loss_fn(model(xb), yb)
        return after.item() - before.item()
    finally:
        restore_tensors()
        restore_rng()
