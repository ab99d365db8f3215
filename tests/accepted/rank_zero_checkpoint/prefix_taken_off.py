from torch import get_rng_state, save


def rank_zero_checkpoint(path, ddp, opt, dist):
    dist.barrier()
    rng = [None] * dist.get_world_size()
    dist.all_gather_object(rng, get_rng_state())
    if not dist.get_rank():
        weights = {name.removeprefix("module."): value for name, value in ddp.state_dict().items()}
        with open(path, "wb") as file:
            save({"rng": rng, "optimizer": opt.state_dict(), "model": weights}, file)
    dist.barrier()
