# mistakes: adam-not-adamw, saves-last, missing-zero-grad, missing-autocast, missing-scaler, clip-after-step
# lines: 11, 37, 19, 20, 23, 24
import torch


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    device = torch.device(device)
    model.to(device)
    params = list(model.parameters())
    opt = torch.optim.Adam(params, cfg.lr, weight_decay=cfg.weight_decay)
    lr_plan = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    entropy = torch.nn.CrossEntropyLoss()
    history = []  # 에폭마다 (정확도, 지금까지의 업데이트 수)

    def one_pass():
        model.train()
        for count, (image, label) in enumerate(train_loader, start=1):
            out = model(image.to(device))
            error = entropy(out, label.to(device))
            error.backward()
            # 업데이트
            opt.step()
            torch.nn.utils.clip_grad_norm_(params, cfg.max_norm)
            lr_plan.step()
        return count

    updates = 0
    for epoch in range(cfg.epochs):
        updates += one_pass()
        model.eval()
        right = []
        for image, label in val_loader:
            with torch.no_grad():
                right.append(model(image.to(device)).argmax(1).cpu() == label.cpu())
        history.append(torch.cat(right).double().mean().item())
        best_file = BestCheckpoint(checkpoint_path)
        best_file.update(history[-1], model=model, opt=opt, scheduler=lr_plan, step=updates, config=cfg)
    model.train()
    return max(history)
