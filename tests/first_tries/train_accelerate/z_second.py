# mistakes: mean-of-batch-means, keeps-graphs, leaves-eval-mode, missing-seed
# lines: 34, 72, 80, 37
# hidden:
import math
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.state import AcceleratorState


def _lr_factor(cfg):
    def factor(step):
        if step < cfg.warmup_steps:
            return (step + 1) / cfg.warmup_steps
        if step >= cfg.total_steps:
            return 0.0
        progress = (step - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * progress))

    return factor


def _accuracy(net, loader, device):
    net.eval()
    per_batch = []
    with torch.no_grad():
        for xb, yb in loader:
            xb, yb = xb.to(device), yb.to(device)
            # 감싼 forward를 거치지 않고 float32로 잰다
            guess = type(net).forward(net, xb).argmax(dim=-1)
            per_batch.append((guess == yb).float().mean().item())
    return sum(per_batch) / len(per_batch)


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    AcceleratorState._reset_state(True)
    precision = {None: "no", "bfloat16": "bf16", "float16": "fp16"}[cfg.amp_dtype]
    accelerator = Accelerator(mixed_precision=precision)

    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = torch.optim.lr_scheduler.LambdaLR(opt, _lr_factor(cfg))
    wrapped, wrapped_opt, loader = accelerator.prepare(model, opt, train_loader)

    best_accuracy = None
    history = []
    step = 0

    def save(score):
        temporary = f"{checkpoint_path}.tmp"
        contents = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": cfg.to_dict(),
        }
        torch.save(contents, temporary)
        os.replace(temporary, checkpoint_path)

    for _ in range(cfg.epochs):
        wrapped.train()
        for xb, yb in loader:
            wrapped_opt.zero_grad()
            loss = F.cross_entropy(wrapped(xb), yb)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(wrapped.parameters(), cfg.max_norm)
            wrapped_opt.step()
            scheduler.step()
            history.append(loss)
            step += 1

        accuracy = _accuracy(model, val_loader, accelerator.device)
        if best_accuracy is None or accuracy > best_accuracy:
            best_accuracy = accuracy
            save(accuracy)

    accelerator.unwrap_model(wrapped, keep_fp32_wrapper=False)
    return best_accuracy
