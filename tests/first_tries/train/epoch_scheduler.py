# mistakes: ignores-weight-decay, scheduler-per-epoch, mean-of-batch-means, leaves-eval-mode
# lines: 14, 53, 42, 38
import torch
import torch.nn.functional as F


class Session:
    """학습에 필요한 것을 한곳에 모아 둔다."""

    def __init__(self, model, cfg, device, path):
        self.cfg = cfg
        self.device = torch.device(device)
        self.model = model.to(self.device)
        self.opt = torch.optim.AdamW([{"params": list(self.model.parameters()), "lr": cfg.lr}])
        self.plan = warmup_cosine(self.opt, cfg.warmup_steps, cfg.total_steps)
        self.file = BestCheckpoint(path)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=cfg.amp_dtype == "float16")
        self.count = 0

    def forward(self, batch):
        x, y = batch
        if self.cfg.amp_dtype is None:
            return F.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
        with torch.autocast(self.device.type, getattr(torch, self.cfg.amp_dtype)):
            return F.cross_entropy(self.model(x.to(self.device)), y.to(self.device))

    def update(self, batch):
        self.scaler.scale(self.forward(batch)).backward()
        self.scaler.unscale_(self.opt)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad()
        self.count += 1

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        mean = 0.0
        for n, (x, y) in enumerate(loader, start=1):
            right = torch.eq(self.model(x.to(self.device)).argmax(-1), y.to(self.device))
            mean += (right.float().mean().item() - mean) / n  # 이동 평균
        return mean


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    run, top = Session(model, cfg, device, checkpoint_path), 0.0
    for _ in range(cfg.epochs):
        run.model.train()
        for batch in train_loader:
            run.update(batch)
        run.plan.step()
        accuracy = run.validate(val_loader)
        top = accuracy if accuracy > top else top
        run.file.update(accuracy, model=run.model, opt=run.opt, scheduler=run.plan, step=run.count, config=cfg)
    return top
