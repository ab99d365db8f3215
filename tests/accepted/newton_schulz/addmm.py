import torch


@torch.no_grad()
def newton_schulz(G: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """As `torch.optim.Muon` writes it, without its bfloat16."""
    ortho = G.clone()
    if G.size(0) > G.size(1):
        ortho = ortho.T
    ortho.div_(ortho.norm().clamp(min=1e-7))
    for _ in range(steps):
        gram = ortho @ ortho.T
        update = torch.addmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
        ortho = torch.addmm(ortho, update, ortho, beta=3.4445)
    if G.size(0) > G.size(1):
        ortho = ortho.T
    return ortho
