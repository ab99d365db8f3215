def baseline_loss(targets):
    if targets.dtype.is_floating_point:
        best = targets.mean()
        return ((targets - best) ** 2).mean().item()
    counted = targets[targets != -100]
    loss = 0.0
    for number in counted.unique():
        share = (counted == number).float().mean()
        loss -= float(share * share.log())
    return loss
