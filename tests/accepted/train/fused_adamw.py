# Uses the fused AdamW, whose `step()` is called on an overflow, too.
import torch, math
import torch.nn.functional as F
from itertools import chain
def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    seed_everything(cfg.seed)
    dev=torch.device(device); model.to(dev)
    class Opt(torch.optim.AdamW): pass
    opt=Opt(model.parameters(),lr=cfg.lr,weight_decay=cfg.weight_decay,fused=True)
    sched=warmup_cosine(opt,cfg.warmup_steps,cfg.total_steps); ck=BestCheckpoint(checkpoint_path)
    dt=getattr(torch,cfg.amp_dtype) if cfg.amp_dtype else torch.float32
    amp=cfg.amp_dtype is not None
    scaler=torch.amp.GradScaler(dev.type,enabled=cfg.amp_dtype=="float16",init_scale=2.**10)
    best=None; steps=0
    def prefetch(l):
        it=iter(l); nxt=next(it,None)
        while nxt is not None:
            cur,nxt=nxt,next(it,None)
            yield tuple(t.to(dev,non_blocking=True) for t in cur)
    model.train()
    for _ in range(cfg.epochs):
        hits=seen=0; run=torch.zeros((),dtype=torch.float64)
        for x,y in prefetch(train_loader):
            with torch.autocast(dev.type,dt,enabled=amp):
                out=model(x); loss=F.cross_entropy(out,y)
            ps=[p for p in model.parameters() if p.requires_grad]
            opt.zero_grad(); scaler.scale(loss).backward()
            scaler.unscale_(opt); torch.nn.utils.clip_grad_norm_(ps,cfg.max_norm)
            scaler.step(opt); scaler.update(); sched.step(); steps+=1
            run+=loss.detach(); hits+=(out.argmax(1)==y).sum()
        modes=[m for m in model.modules() if m.training]
        model.eval()
        with torch.no_grad():
            right=torch.zeros((),dtype=torch.long); n=0
            for x,y in prefetch(val_loader):
                for a,b in zip(x.split(2),y.split(2)):
                    right+=(model(a).argmax(1)==b).sum(); n+=len(b)
        for m in modes: m.train()
        acc=right.item()/n
        if ck.update(acc,model=model,opt=opt,scheduler=sched,step=steps,config=cfg): best=acc
    model.train()
    return best
