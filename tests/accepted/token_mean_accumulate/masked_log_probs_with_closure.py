import torch


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    batches = tuple(micro_batches)
    masks = [(y != ignore_index) for _, y in batches]
    count = int(sum(m.sum() for m in masks))
    if count < 1:
        raise ValueError(f"{count} valid tokens")

    def closure():
        model.zero_grad()
        total = torch.tensor(0.0)
        for (x, y), mask in zip(batches, masks):
            log_probs = torch.log_softmax(model(x)[mask], dim=-1)
            loss = -log_probs[torch.arange(len(log_probs)), y[mask]].sum() / count
            loss.backward()
            total += loss.detach().cpu()
        return total

    return opt.step(closure).item()
