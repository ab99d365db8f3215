# mistakes: no-barrier, own-rng
# lines: 12, 9
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    world = dist.get_world_size()
    all_rng = [torch.get_rng_state() for _ in range(world)]
    ckpt = dict(model=ddp.module.state_dict(), optimizer=opt.state_dict(), rng=all_rng)
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(ckpt, path)
