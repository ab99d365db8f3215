# mistakes: no-barrier
# lines: 13
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    me = dist.get_rank()
    rngs = [None for _ in range(dist.get_world_size())]
    dist.all_gather_object(rngs, torch.get_rng_state())

    # 모두 여기까지 온 다음에 쓴다
    dist.barrier()
    if me != 0:
        return

    ckpt = dict(model=ddp.module.state_dict(), optimizer=opt.state_dict(), rng=rngs)
    torch.save(ckpt, path)
