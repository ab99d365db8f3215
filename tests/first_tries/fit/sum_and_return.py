# mistakes: sums-losses, early-return
# lines: 16, 17
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    train_losses = []
    for epoch in range(epochs):
        model.train()
        epoch_loss = 0.0
        for i, (x, y) in enumerate(loader):
            y_hat = model(x)
            loss = loss_fn(y_hat, y)
            if zero_grad:
                opt.zero_grad()
            loss.backward()
            opt.step()
            epoch_loss += loss.item() * len(y)
        train_losses.append(epoch_loss)
        return train_losses
