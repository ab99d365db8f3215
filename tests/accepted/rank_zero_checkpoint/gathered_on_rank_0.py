import torch


def rank_zero_checkpoint(path, ddp, opt, dist):
    is_main = dist.get_rank() == 0
    states = [None for _ in range(dist.get_world_size())] if is_main else None
    dist.gather_object(torch.get_rng_state(), states, dst=0)
    if is_main:
        torch.save(dict(model=ddp.module.state_dict(), optimizer=opt.state_dict(), rng=states), path)
    dist.barrier()
