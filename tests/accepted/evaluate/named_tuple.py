# Returns a named tuple of two floats.
import copy
from typing import NamedTuple
import torch
class Result(NamedTuple):
    loss: float
    accuracy: float
def evaluate(model, loss_fn, loader):
    modes=[(m,m.training) for m in model.modules()]
    total=0.0;correct=0;n=0
    try:
        model.eval()
        with torch.inference_mode():
            for xb,yb in loader:
                out=model(xb)
                total+=loss_fn(out,yb).item()*len(yb); correct+=(out.argmax(1)==yb).sum().item(); n+=len(yb)
    finally:
        for m,t in modes: m.training=t
    return Result(total/n,correct/n)
