# The saved random states are rows of one tensor.
import torch
def rank_zero_checkpoint(path, ddp, opt, dist):
    rng=torch.get_rng_state()
    table=torch.zeros(dist.get_world_size(),rng.numel(),dtype=torch.int64)
    table[dist.get_rank()]=rng.long()
    dist.all_reduce(table,op=torch.distributed.ReduceOp.SUM)
    if dist.get_rank()==0:
        torch.save(obj={"model":ddp.module.state_dict(),"optimizer":opt.state_dict(),"rng":list(table.byte())},f=path)
    dist.barrier(async_op=True).wait()
