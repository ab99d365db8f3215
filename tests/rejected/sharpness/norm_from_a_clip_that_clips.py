# expect: 
import torch


def sharpness(model, loss_fn, xb, yb, *, rho):
    held = [p.grad for p in model.parameters()]
    state = {k: v.clone() for k, v in model.state_dict().items()}
    rng = torch.get_rng_state()
    model.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    torch.set_rng_state(rng)
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p.add_(p.grad * rho / norm)
        high = loss_fn(model(xb), yb)
    model.load_state_dict(state)
    torch.set_rng_state(rng)
    for p, g in zip(model.parameters(), held):
        p.grad = g
    return (high - loss).item()
