# Chooses the device by the backend.
def gather_metrics(correct, total, dist) -> float:
    import torch
    device = torch.device("cuda", torch.cuda.current_device()) if dist.get_backend() == "nccl" else torch.device("cpu")
    c = torch.tensor([int(correct), int(total)], device=device)
    dist.all_reduce(c)
    c, t = c.tolist()
    if t == 0: raise ValueError
    return c / t
