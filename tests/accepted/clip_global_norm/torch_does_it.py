from torch.nn.utils import clip_grad_norm_


def clip_global_norm(params, max_norm):
    return clip_grad_norm_(params, max_norm, error_if_nonfinite=True).item()
