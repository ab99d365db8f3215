# mistakes: strips-inner-names, no-barrier, own-rng
# lines: 12, 24, 22
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    rank = dist.get_rank()
    world = dist.get_world_size()

    def without_prefix(state):
        return {name.replace("module.", ""): tensor for name, tensor in state.items()}

    # 모두 여기까지 온 다음에 저장한다
    dist.barrier()
    if rank != 0:
        return

    contents = {
        "model": without_prefix(ddp.state_dict()),
        "optimizer": opt.state_dict(),
        "rng": [torch.get_rng_state() for _ in range(world)],
    }
    torch.save(contents, path)
