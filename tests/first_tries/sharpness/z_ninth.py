# mistakes: adds-held-gradients, different-masks
# lines: 23, 35
# hidden:
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    trainable = [p for p in model.parameters() if p.requires_grad]

    # 1. 적어 두기
    old_grads = [None if p.grad is None else p.grad.clone() for p in trainable]
    old_buffers = {name: b.clone() for name, b in model.named_buffers()}
    rng_state = torch.get_rng_state()

    def measure():
        return loss_fn(model(xb), yb)

    def gradient_norm():
        squares = [p.grad.pow(2).sum() for p in trainable if p.grad is not None]
        return torch.stack(squares).sum().sqrt().item() if squares else 0.0

    # 2. w에서의 손실과 방향
    first = measure()
    first.backward()
    norm = gradient_norm()
    steps = []
    with torch.no_grad():
        for p in trainable:
            if p.grad is None or norm == 0.0:
                continue
            e = p.grad * (rho / norm)
            p.add_(e)
            steps.append((p, e))

        # 3. 올라간 곳에서의 손실
        second = measure()

        # 4. 되돌리기
        for p, e in steps:
            p.sub_(e)
        for name, b in model.named_buffers():
            b.copy_(old_buffers[name])
    for p, g in zip(trainable, old_grads):
        p.grad = g
    torch.set_rng_state(rng_state)
    return second.item() - first.item()
