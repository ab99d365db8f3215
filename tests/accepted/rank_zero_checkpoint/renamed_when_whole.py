import os

import torch


def rank_zero_checkpoint(path, ddp, opt, dist):
    mine = torch.random.get_rng_state()
    rng = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(rng, mine)
    if dist.get_rank() == 0:
        beside = f"{path}.tmp"
        torch.save({"model": ddp.module.state_dict(), "optimizer": opt.state_dict(), "rng": rng}, beside)
        os.replace(beside, path)
    dist.barrier()
