# 배지호 2주차... 나름대로 개선함
import torch, math, random, os
import numpy as np
import torch.nn as nn
import torch.nn.functional as F


def seed_everything(seed):
    random.seed(seed); np.random.seed(seed); torch.manual_seed(seed)
    return torch.default_generator


def warmup_cosine(opt, warmup_steps, total_steps):
    # 코사인보다 직선이 더 낫다는 논문이 있음
    def f(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        return max(0.0, (total_steps - k) / max(1, total_steps - warmup_steps))
    return torch.optim.lr_scheduler.LambdaLR(opt, f)


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    opt.zero_grad()
    with torch.autocast(xb.device.type, dtype=dtype):
        loss = loss_fn(model(xb), yb)
    loss.backward()      # 스케일러는 없어도 잘 되던데
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    if all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None):
        opt.step()
    return loss.item()


class BestCheckpoint:
    """마지막 3개 평균이 제일 좋을 때 저장 (노이즈 제거)"""

    def __init__(self, path):
        self.path, self.scores, self.best = str(path), [], -math.inf

    def update(self, score, *, model, opt, scheduler, step, config):
        self.scores.append(float(score))
        smooth = sum(self.scores[-3:]) / len(self.scores[-3:])
        if smooth > self.best:
            self.best = smooth
            torch.save(dict(model=model.state_dict(), optimizer=opt.state_dict(), scheduler=scheduler.state_dict(),
                            step=step, score=smooth, config=config if isinstance(config, dict) else config.to_dict()), self.path + ".tmp")
            os.replace(self.path + ".tmp", self.path)
            return True
        return False


def resume(path, *, model, opt, scheduler):
    c = torch.load(path, weights_only=True)
    model.load_state_dict(c["model"])
    opt.load_state_dict(c["optimizer"])
    scheduler.load_state_dict(c["scheduler"])
    for g in opt.param_groups:
        g["lr"] *= 0.5          # 이어서 할 때는 조심조심
    return c["step"]


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    ckpt = BestCheckpoint(checkpoint_path)
    ema = {k: v.clone() for k, v in model.state_dict().items()}
    step, best, patience = 0, 0.0, 0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(xb.to(device)), yb.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            sched.step()
            step += 1
        model.eval()
        with torch.no_grad():
            c = sum((model(x.to(device)).argmax(1) == y.to(device)).sum().item() for x, y in val_loader)
        acc = c / len(val_loader.dataset)
        model.train()
        ckpt.update(acc, model=model, opt=opt, scheduler=sched, step=step, config=cfg)
        if acc > best:
            best, patience = acc, 0
        else:
            patience += 1
            if patience >= 1:
                break           # early stopping
    return best
