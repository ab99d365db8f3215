# mistakes: strips-inner-names, no-barrier, one-tensor-for-all
# lines: 9, 18, 13
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    def strip(state):
        return {name.replace("module.", ""): value for name, value in state.items()}

    def gather_rng():
        mine = torch.get_rng_state()
        boxes = [torch.empty_like(mine)] * dist.get_world_size()
        dist.all_gather(boxes, mine)
        return boxes

    rng_states = gather_rng()
    dist.barrier()  # 모두 모일 때까지 기다린다
    if dist.get_rank() == 0:
        torch.save(
            {
                "model": strip(ddp.state_dict()),
                "optimizer": opt.state_dict(),
                "rng": rng_states,
            },
            path,
        )
