# mistakes: leaves-gradients, different-masks, unlisted(goes back by subtracting the step), updates-running-stats
# lines: 14, 23, 26, 13
# hidden:
import torch


def sharpness(model, loss_fn, xb, yb, *, rho) -> float:
    params = [p for p in model.parameters() if p.requires_grad]

    with torch.random.fork_rng():  # 난수 상태를 되돌린다
        # w에서의 손실과 그레이디언트
        model.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()

        with torch.no_grad():
            used = [p for p in params if p.grad is not None]
            norm = torch.cat([p.grad.flatten() for p in used]).norm()
            steps = [rho * p.grad / (norm + 1e-12) for p in used]
            # 올라간다
            for p, e in zip(used, steps):
                p.add_(e)
            higher = loss_fn(model(xb), yb)
            # 내려온다
            for p, e in zip(used, steps):
                p.sub_(e)
        model.zero_grad()

    return higher.item() - loss.item()
