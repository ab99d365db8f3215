import math
import statistics
from contextlib import contextmanager

import torch


@contextmanager
def _clearing(opt):
    yield [p for g in opt.param_groups for p in g["params"]]
    opt.zero_grad()


def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    with _clearing(opt) as params:
        # 한도가 없는 클리핑은 노름만 재고 아무것도 줄이지 않는다
        norm = float(torch.nn.utils.clip_grad_norm_(params, max_norm=math.inf))
        match (math.isfinite(norm), len(history) >= window):
            case (False, _):
                usual = False
            case (True, False):
                usual = True
            case _:
                usual = norm <= factor * statistics.median(history[-window:])
        if usual:
            opt.step()
            sched.step()
            history += [norm]
    return usual
