# mistakes: one-tensor-for-all
# lines: 9
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    here = torch.get_rng_state()
    everywhere = [torch.empty_like(here)] * dist.get_world_size()
    dist.all_gather(everywhere, here)
    if dist.get_rank() == 0:
        checkpoint = dict(model=ddp.module.state_dict(), optimizer=opt.state_dict(), rng=everywhere)
        torch.save(checkpoint, path)
    dist.barrier()
