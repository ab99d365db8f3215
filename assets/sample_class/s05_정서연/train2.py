import math, os, random, tomllib
from dataclasses import asdict, dataclass
import numpy as np, torch, torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_ as clip


@dataclass(frozen=True)
class TrainConfig:
    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None
    seed: int = 0

    def __post_init__(s):
        if s.lr <= 0 or min(s.epochs, s.batch_size) < 1 or s.warmup_steps > s.total_steps:
            raise ValueError(str(s))

    @classmethod
    def from_toml(c, p):
        d = tomllib.load(open(p, "rb"))
        if bad := set(d) - set(c.__dataclass_fields__):
            raise ValueError(*bad)
        return c(**d)

    to_dict = asdict


def seed_everything(s):
    random.seed(s), np.random.seed(s), torch.manual_seed(s)
    return torch.Generator().manual_seed(s + 1)


def warmup_cosine(o, w, n):
    f = lambda k: (k + 1) / w if k < w else k < n and math.cos(math.pi / 2 * (k - w) / (n - w)) ** 2
    return torch.optim.lr_scheduler.LambdaLR(o, f)


def amp_accumulate(m, o, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None):
    s, L = torch.amp.GradScaler(enabled=False) if scaler is None else scaler, 0.
    o.zero_grad()
    for x, y in micro_batches:
        with torch.autocast(x.device.type, dtype):
            l = loss_fn(m(x), y) / len(micro_batches)
        s.scale(l).backward()
        L += l.item()
    s.unscale_(o)
    max_norm is None or clip(m.parameters(), max_norm)
    s.step(o), s.update()
    return L


def amp_step(m, o, loss_fn, x, y, *, dtype, scaler=None, max_norm=None):
    s = torch.amp.GradScaler(enabled=False) if scaler is None else scaler
    o.zero_grad()
    with torch.autocast(x.device.type, dtype):
        l = loss_fn(m(x), y)
    s.scale(l).backward(), s.unscale_(o)
    max_norm is None or clip(m.parameters(), max_norm)
    s.step(o), s.update()
    return l.item()


class BestCheckpoint:
    def __init__(self, path):
        self.p, self.b = str(path), -math.inf

    def update(self, score, *, model, opt, scheduler, step, config):
        if ok := bool(score > self.b):
            self.b = float(score)
            c = config if type(config) is dict else asdict(config)
            d = {"step": step, "score": self.b, "config": c}
            torch.save(d | {k: v.state_dict() for k, v in zip(("model", "optimizer", "scheduler"), (model, opt, scheduler))}, self.p + "~")
            os.rename(self.p + "~", self.p)
        return ok


def resume(path, **parts):
    d = torch.load(path)
    for k, v in parts.items():
        v.load_state_dict(d["optimizer" if k == "opt" else k])
    return d["step"]


def run(m, tr, va, cfg, path, dev, back, wrap, unwrap, clip=clip):
    seed_everything(cfg.seed)
    o = torch.optim.AdamW(m.to(dev).parameters(), cfg.lr, weight_decay=cfg.weight_decay)
    s, c, n, best = warmup_cosine(o, cfg.warmup_steps, cfg.total_steps), BestCheckpoint(path), 0, 0
    m, o, tr, va, s = wrap(m, o, tr, va, s)
    t = getattr(torch, cfg.amp_dtype or "float32")
    g = torch.amp.GradScaler(torch.device(dev).type, enabled=cfg.amp_dtype == "float16")
    m.train()
    for _ in range(cfg.epochs):
        for x, y in tr:
            o.zero_grad()
            with torch.autocast(torch.device(dev).type, t, enabled=bool(cfg.amp_dtype)):
                l = F.cross_entropy(m(x.to(dev)), y.to(dev))
            back(g.scale(l)), g.unscale_(o), clip(m.parameters(), cfg.max_norm), g.step(o), g.update(), s.step()
            n += 1
        m.eval()
        with torch.no_grad():
            r = torch.cat([m(x.to(dev)).argmax(1) == y.to(dev) for x, y in va])
        m.train()
        a = r.sum().item() / len(r)
        best = max(a, best)
        c.update(a, model=unwrap(m), opt=o, scheduler=s, step=n, config=cfg)
    return best


def train(m, tr, va, cfg, *, device="cpu", checkpoint_path):
    return run(m, tr, va, cfg, checkpoint_path, device, torch.Tensor.backward, lambda *a: a, lambda m: m)


def train_accelerate(m, tr, va, cfg, *, checkpoint_path):
    from accelerate import Accelerator
    a = Accelerator()
    return run(m, tr, va, cfg, checkpoint_path, a.device, a.backward, a.prepare, a.unwrap_model, a.clip_grad_norm_)
