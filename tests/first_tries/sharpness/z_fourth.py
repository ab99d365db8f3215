# mistakes: different-masks
# lines: 51
# hidden:
import torch


class _지금_그대로:
    """버퍼와 난수 상태와 가중치를 적어 두었다가 되돌린다."""

    def __init__(self, model):
        self.tensors = [(t, t.detach().clone()) for t in model.parameters()]
        self.buffers = [(t, t.detach().clone()) for t in model.buffers()]
        self.rng = torch.get_rng_state()
        self.cuda_rng = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None

    @torch.no_grad()
    def restore_buffers(self):
        for now, before in self.buffers:
            now.copy_(before)

    @torch.no_grad()
    def restore_all(self):
        for now, before in self.tensors:
            now.copy_(before)
        self.restore_buffers()
        torch.set_rng_state(self.rng)
        if self.cuda_rng is not None:
            torch.cuda.set_rng_state_all(self.cuda_rng)


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    if not params:
        return 0.0
    before = _지금_그대로(model)

    def climb(grads):
        pairs = [(p, g) for p, g in zip(params, grads) if g is not None]
        norm = torch.sqrt(sum(g.pow(2).sum() for _, g in pairs))
        if norm == 0:
            return
        with torch.no_grad():
            for p, g in pairs:
                p.add_(g, alpha=rho / norm.item())

    try:
        with torch.enable_grad():
            loss = loss_fn(model(xb), yb)
            grads = torch.autograd.grad(loss, params, allow_unused=True)
        climb(grads)
        before.restore_buffers()
        with torch.no_grad():
            higher = loss_fn(model(xb), yb)
        return higher.item() - loss.item()
    finally:
        before.restore_all()
