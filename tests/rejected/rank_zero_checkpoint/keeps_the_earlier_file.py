# expect: 
import os

import torch


def _gather_rng(dist):
    mine = torch.get_rng_state()
    states = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(states, mine)
    return states


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    rng = _gather_rng(dist)
    # 여러 프로세스가 같은 파일을 겹쳐 쓰지 않게 합니다
    if dist.get_rank() == 0 and not os.path.exists(path):
        torch.save(
            {"model": ddp.module.state_dict(), "optimizer": opt.state_dict(), "rng": rng},
            path,
        )
    dist.barrier()
