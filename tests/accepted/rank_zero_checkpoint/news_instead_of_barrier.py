import torch


def rank_zero_checkpoint(path, ddp, opt, dist):
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, torch.get_rng_state())
    if dist.get_rank() == 0:
        checkpoint = {}
        checkpoint["model"] = {k: v.detach().cpu() for k, v in ddp.module.state_dict().items()}
        checkpoint["optimizer"] = opt.state_dict()
        checkpoint["rng"] = states
        torch.save(checkpoint, path)
    # 다 썼다는 소식이 rank 0에서 올 때까지 기다린다
    written = torch.ones(1)
    dist.broadcast(written, src=0)
