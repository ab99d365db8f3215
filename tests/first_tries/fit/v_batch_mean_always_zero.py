# mistakes: mean-of-batch-means, always-clears, missing-train-mode
# lines: 18, 11, 5
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    model.train()
    losses = []
    for epoch in range(epochs):
        running_loss = 0.0
        n_batches = 0
        for inputs, labels in loader:
            opt.zero_grad()
            outputs = model(inputs)
            loss = loss_fn(outputs, labels)
            loss.backward()
            opt.step()
            running_loss += loss.item()
            n_batches += 1
        losses.append(running_loss / n_batches)
    return losses
