def ema_update_(ema, model, decay, step):
    d = min([decay, (1 + step) / (10 + step)])
    for mean, now in zip(list(ema.parameters()), list(model.parameters())):
        mean.data.copy_(d * mean.data + (1 - d) * now.data)
    for mean, now in zip(ema.buffers(), model.buffers()):
        mean.data.copy_(now.data)
    return d
