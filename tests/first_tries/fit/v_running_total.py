# mistakes: cumulative-mean, missing-train-mode, always-clears
# lines: 6, 8, 13
# hidden:
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    result = []
    running_loss = 0.0
    n_samples = 0
    for epoch in range(epochs):
        for data in loader:
            inputs, labels = data

            # zero the parameter gradients
            opt.zero_grad()

            # forward + backward + optimize
            outputs = model(inputs)
            loss = loss_fn(outputs, labels)
            loss.backward()
            opt.step()

            running_loss += loss.item() * inputs.size(0)
            n_samples += inputs.size(0)
        result.append(running_loss / n_samples)
    return result
