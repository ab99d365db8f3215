# mistakes: 정밀도가 무엇이든 있으면 fp16을 씀
# lines: 10
import torch
import torch.nn.functional as F
from accelerate import Accelerator


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path):
    seed_everything(cfg.seed)
    accelerator = Accelerator(mixed_precision="no" if cfg.amp_dtype is None else "fp16")
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    model, opt, scheduler, train_loader, val_loader = accelerator.prepare(
        model, opt, scheduler, train_loader, val_loader
    )
    best, step = 0.0, 0
    for _ in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            with accelerator.autocast():
                loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            step += 1
        model.eval()
        correct = seen = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                guess, truth = accelerator.gather_for_metrics((model(xb).argmax(1), yb))
                correct += (guess == truth).sum().item()
                seen += len(truth)
        accuracy = correct / seen
        best = max(best, accuracy)
        plain = accelerator.unwrap_model(model)
        checkpoint.update(accuracy, model=plain, opt=opt, scheduler=scheduler, step=step, config=cfg)
    model.train()
    return best
