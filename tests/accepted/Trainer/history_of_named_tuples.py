# The history holds named tuples, which are tuples.
import copy, random, torch
from collections import namedtuple
Epoch=namedtuple("Epoch","train val")
class Trainer:
    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        self.model,self.opt,self.loss_fn,self.scheduler,self.accum_steps,self.max_norm=model,opt,loss_fn,scheduler,accum_steps,max_norm
        self.history=[]; self.best=None; self._low=None
    def fit(self, train_loader, val_loader, epochs):
        for _ in range(epochs):
            self.model.train()
            data=list(train_loader); tot=cnt=0
            for i in range(0,len(data),self.accum_steps):
                win=data[i:i+self.accum_steps]; n=sum(len(y) for _,y in win)
                self.opt.zero_grad(set_to_none=False)
                for x,y in win:
                    l=self.loss_fn(self.model(x),y)*(len(y)/n); l.backward(); tot+=l.item()*n; cnt+=len(y)
                if self.max_norm is not None: torch.nn.utils.clip_grad_norm_(self.model.parameters(),self.max_norm)
                self.opt.step()
                if self.scheduler: self.scheduler.step()
            val=self.evaluate(val_loader)
            self.history.append(Epoch(tot/cnt,val))
            if self._low is None or val<self._low:
                self._low=val; self.best={k:v.detach().clone() for k,v in self.model.state_dict().items()}
    def evaluate(self, loader):
        twin=copy.deepcopy(self.model).eval()
        with torch.inference_mode():
            s=[(self.loss_fn(twin(x),y).item(),len(y)) for x,y in loader]
        return sum(a*b for a,b in s)/sum(b for _,b in s)
    def state_dict(self):
        return copy.deepcopy(dict(model=self.model.state_dict(),opt=self.opt.state_dict(),sched=self.scheduler and self.scheduler.state_dict(),
            history=[tuple(h) for h in self.history],best=self.best,low=self._low,rng=torch.get_rng_state(),py=random.getstate(),modes={n:m.training for n,m in self.model.named_modules()}))
    def load_state_dict(self,state):
        state=copy.deepcopy(state)
        self.model.load_state_dict(state["model"]); self.opt.load_state_dict(state["opt"])
        if self.scheduler: self.scheduler.load_state_dict(state["sched"])
        self.history=[Epoch(*h) for h in state["history"]]; self.best=state["best"]; self._low=state["low"]
        torch.set_rng_state(state["rng"]); random.setstate(state["py"])
        for n,m in self.model.named_modules(): m.training=state["modes"][n]
