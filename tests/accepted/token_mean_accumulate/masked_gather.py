def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = [(x, y, y.ne(ignore_index)) for x, y in micro_batches]
    valid_tokens = sum(int(mask.count_nonzero()) for *_, mask in window)
    if not valid_tokens:
        raise ValueError("유효한 토큰이 하나도 없습니다")

    opt.zero_grad()

    def shares():
        for x, y, mask in window:
            log_probs = model(x)[mask].log_softmax(dim=-1)
            share = log_probs.gather(1, y[mask][:, None]).sum().neg() / valid_tokens
            share.backward()
            yield share.item()

    mean_loss = sum(shares())
    opt.step()
    return mean_loss
