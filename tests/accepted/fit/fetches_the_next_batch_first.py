# Takes the next batch from the loader before it trains on the one at hand.
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    def train_on(xb, yb):
        if zero_grad:
            opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        return loss.item() * len(xb)

    history = []
    for _ in range(epochs):
        model.train()
        total, samples, waiting = 0.0, 0, None
        for batch in _with_end(loader):
            if waiting is not None:
                total += train_on(*waiting)
                samples += len(waiting[0])
            waiting = batch
        history.append(total / samples)
    return history


def _with_end(loader):
    yield from loader
    yield None
