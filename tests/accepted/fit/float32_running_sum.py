import torch


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for epoch in range(epochs):
        model.train()
        total = torch.tensor(0.0)
        count = 0
        for i, (xb, yb) in enumerate(loader):
            if zero_grad:
                for p in model.parameters():
                    p.grad = None
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.detach().cpu() * len(xb)
            count += len(xb)
        history.append((total / count).item())
    return history
