# mistakes: advances-rng, updates-running-stats, unlisted(rounding of the restored weights)
# lines: 45, 21, 41
# hidden:
import torch


def _rng():
    gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    return torch.get_rng_state(), gpu


def _set_rng(saved):
    cpu, gpu = saved
    torch.set_rng_state(cpu)
    if gpu is not None:
        torch.cuda.set_rng_state_all(gpu)


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    ws = [p for p in model.parameters() if p.requires_grad]
    buffers = {name: b for name, b in model.named_buffers()}
    rng = _rng()

    with torch.enable_grad():
        here = loss_fn(model(xb), yb)
        grads = torch.autograd.grad(here, ws, allow_unused=True)

    with torch.no_grad():
        pairs = [(w, g) for w, g in zip(ws, grads) if g is not None]
        length = sum(g.pow(2).sum() for _, g in pairs) ** 0.5
        scale = rho / length if length > 0 else 0.0

        for w, g in pairs:
            w.add_(g * scale)

        _set_rng(rng)  # 같은 드롭아웃 마스크
        there = loss_fn(model(xb), yb)

        # 원래 자리로
        for w, g in pairs:
            w.sub_(g * scale)
        for name, b in model.named_buffers():
            b.copy_(buffers[name])

    return there.item() - here.item()
