from itertools import chain, filterfalse

from torch import nn


def muon_groups(model: nn.Module, *, head: str = "head") -> tuple[list, list]:
    table = dict(model.named_modules())
    outside = frozenset(
        map(
            id,
            chain(
                table[head].parameters(),  # 없으면 KeyError
                (m.weight for m in filter(lambda m: isinstance(m, nn.Embedding), table.values())),
            ),
        )
    )

    def inner_matrix(p):
        return p.dim() == 2 and id(p) not in outside

    trainable = [p for p in model.parameters() if p.requires_grad]
    return list(filter(inner_matrix, trainable)), list(filterfalse(inner_matrix, trainable))
