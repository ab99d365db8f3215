# mistakes: scheduler-per-epoch, returns-last-accuracy, plain-backward
# lines: 69, 90, 65
# hidden:
import copy
import math
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import set_seed

PRECISION = {None: "no", "bfloat16": "bf16", "float16": "fp16"}


def lr_factor(k, warm, total):
    if k < warm:
        return (k + 1) / warm
    if k >= total:
        return 0.0
    return 0.5 * (1 + math.cos(math.pi * (k - warm) / (total - warm)))


def measure(net, loader, device):
    net.eval()
    right = total = 0
    with torch.no_grad():
        for xb, yb in loader:
            guess = net(xb.to(device)).argmax(-1)
            right += (guess == yb.to(device)).sum().item()
            total += len(yb)
    return right / total


def write_checkpoint(acc, path, content):
    if not acc.is_main_process:
        return
    part = f"{path}.part"
    torch.save(content, part)
    os.replace(part, path)


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    AcceleratorState._reset_state()
    acc = Accelerator(mixed_precision=PRECISION[cfg.amp_dtype])
    set_seed(cfg.seed)

    # 평가는 float32로 하려고 감싸지 않은 사본을 둔다
    judge = copy.deepcopy(model).to(acc.device)

    raw_opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = torch.optim.lr_scheduler.LambdaLR(
        raw_opt, lambda k: lr_factor(k, cfg.warmup_steps, cfg.total_steps)
    )
    net, opt, loader = acc.prepare(model, raw_opt, train_loader)

    best = -1.0
    step = 0
    for epoch in range(cfg.epochs):
        net.train()
        for xb, yb in loader:
            opt.zero_grad()
            loss = F.cross_entropy(net(xb), yb)
            loss.backward()
            acc.clip_grad_norm_(net.parameters(), cfg.max_norm)
            opt.step()
            step += 1
        sched.step()

        plain = acc.unwrap_model(net)
        judge.load_state_dict(plain.state_dict())
        score = measure(judge, val_loader, acc.device)
        if score > best:
            best = score
            write_checkpoint(
                acc,
                checkpoint_path,
                {
                    "model": plain.state_dict(),
                    "optimizer": raw_opt.state_dict(),
                    "scheduler": sched.state_dict(),
                    "step": step,
                    "score": score,
                    "config": cfg.to_dict(),
                },
            )

    net.train()
    return score
