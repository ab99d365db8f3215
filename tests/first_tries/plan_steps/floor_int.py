# mistakes: drops-short-window, truncates-warmup, no-ratio-check
# lines: 6, 8, 4

def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1):
    # 한 에폭당 optimizer step 수
    steps_per_epoch = n_batches // accum_steps
    total = steps_per_epoch * n_epochs
    warmup = max(1, int(total * warmup_ratio))
    return total, warmup
