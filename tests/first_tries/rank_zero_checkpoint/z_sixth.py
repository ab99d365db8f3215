# mistakes: strips-inner-names, own-rng, no-barrier
# lines: 8, 21, 13
# hidden:
import torch


def _without_prefix(state):
    return {key.replace("module.", ""): value for key, value in state.items()}


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    # 모두 여기까지 올 때까지 기다린 다음 저장한다
    dist.barrier()
    if dist.get_rank() != 0:
        return

    world = dist.get_world_size()
    contents = {}
    contents["model"] = _without_prefix(ddp.state_dict())
    contents["optimizer"] = opt.state_dict()
    contents["rng"] = [torch.get_rng_state() for _ in range(world)]
    torch.save(contents, path)
