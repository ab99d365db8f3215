# mistakes: different-masks, per-parameter-norm, unlisted(takes the step back by subtracting)
# lines: 28, 18, 35
# hidden:
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    trainable = [p for p in model.parameters() if p.requires_grad]
    buffers = {k: b.detach().clone() for k, b in model.named_buffers()}
    rng = torch.get_rng_state()

    def reset_buffers():
        for k, b in model.named_buffers():
            b.copy_(buffers[k])

    def unit(g):
        # 길이를 1로
        length = g.norm()
        return g / length if length > 0 else torch.zeros_like(g)

    with torch.enable_grad():
        loss = loss_fn(model(xb), yb)
        grads = torch.autograd.grad(loss, trainable, allow_unused=True)
    before = loss.item()

    with torch.no_grad():
        moves = [None if g is None else rho * unit(g) for g in grads]
        reset_buffers()
        for p, e in zip(trainable, moves):
            if e is not None:
                p.add_(e)
        after = loss_fn(model(xb), yb).item()
        for p, e in zip(trainable, moves):
            if e is not None:
                p.sub_(e)
        reset_buffers()

    torch.set_rng_state(rng)
    return after - before
