def add_gradient(model, loss_fn, xb, yb, weight):
    handles = [p.register_hook(lambda g: g * weight) for p in model.parameters() if p.requires_grad]
    try:
        loss = loss_fn(model(xb), yb)
        loss.backward()
    finally:
        for handle in handles:
            handle.remove()
    return loss.item()
