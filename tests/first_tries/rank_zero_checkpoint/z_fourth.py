# mistakes: strips-letters, no-barrier
# lines: 10, 20
# hidden:
import torch


def rank_zero_checkpoint(path, ddp, opt, dist) -> None:
    def 이름_고치기(state):
        # DDP가 붙인 "module."을 뗀다
        return {key.lstrip("module."): value for key, value in state.items()}

    def 난수_모으기():
        slots = [None] * dist.get_world_size()
        dist.all_gather_object(slots, torch.get_rng_state())
        return slots

    rngs = 난수_모으기()
    model_state = 이름_고치기(ddp.state_dict())

    dist.barrier()
    if dist.get_rank() != 0:
        return
    torch.save({"model": model_state, "optimizer": opt.state_dict(), "rng": rngs}, path)
