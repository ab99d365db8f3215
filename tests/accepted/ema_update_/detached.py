from itertools import chain


def ema_update_(ema, model, decay, step):
    d = decay if decay * (10 + step) <= 1 + step else (1 + step) / (10 + step)
    pairs = chain(
        ((a, b, 1 - d) for a, b in zip(ema.parameters(), model.parameters(), strict=True)),
        ((a, b, None) for a, b in zip(ema.buffers(), model.buffers(), strict=True)),
    )
    for mean, now, weight in pairs:
        mine, theirs = mean.detach(), now.detach()
        if weight is None:
            mine.copy_(theirs)
        else:
            mine.lerp_(theirs, weight)
    return d
