# mistakes: no-clip, missing-eval-mode, returns-last-accuracy
# lines: 30, 35, 43
# hidden:
import torch
import torch.nn.functional as F
from accelerate import Accelerator


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    seed_everything(cfg.seed)
    precision = {None: "no", "bfloat16": "bf16", "float16": "fp16"}[cfg.amp_dtype]
    accelerator = Accelerator(mixed_precision=precision)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    model, opt, scheduler, train_loader, val_loader = accelerator.prepare(
        model, opt, scheduler, train_loader, val_loader
    )
    # 검증은 float32로 하려고, 혼합 정밀도는 아래 autocast에서만 켠다
    plain = accelerator.unwrap_model(model, keep_fp32_wrapper=False)

    step = 0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            with accelerator.autocast():
                loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            opt.step()
            scheduler.step()
            step += 1

        correct = total = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                guess, yb = accelerator.gather_for_metrics((plain(xb).argmax(dim=1), yb))
                correct += (guess == yb).sum().item()
                total += len(yb)
        accuracy = correct / total
        checkpoint.update(accuracy, model=plain, opt=opt, scheduler=scheduler, step=step, config=cfg)
    model.train()
    return accuracy
