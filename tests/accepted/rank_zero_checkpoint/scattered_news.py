import torch


def rank_zero_checkpoint(path, ddp, opt, dist):
    size, me = dist.get_world_size(), dist.get_rank()
    states = [None] * size if me == 0 else None
    dist.gather_object(torch.get_rng_state(), states, dst=0)
    if me == 0:
        torch.save({"model": ddp.module.state_dict(), "optimizer": opt.state_dict(), "rng": states}, path)
    dist.scatter_object_list([None], ["written"] * size if me == 0 else None, src=0)
