"""Equal rows have equal hashes, and other rows have others."""

import numpy as np
import pytest
import torch
from torch import Tensor

from grader.scripts.batch_hashes import (
    is_continuous,
    piece_hashes,
    plain_and_sorted_hashes,
    row_hashes,
    values_hash,
)
from tests.xray.running import watched
from tests.xray.test_batch_parts import UNREADABLE


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
)
def test_equal_rows_have_equal_hashes_in_any_batch(dtype: torch.dtype) -> None:
    rows = (torch.arange(60).reshape(5, 3, 4) % 11).to(dtype)
    found, alone = row_hashes(rows), row_hashes(rows[[3, 1]])
    assert found is not None
    assert alone is not None
    assert alone.tolist() == found[[3, 1]].tolist()


def test_rows_that_differ_in_one_entry_have_other_hashes() -> None:
    rows = torch.zeros(1024, 1024) + torch.eye(1024)
    found = row_hashes(rows)
    assert found is not None
    assert len(found) == len(found.unique()) == 512


@pytest.mark.parametrize(
    "tensor", [*UNREADABLE.values(), torch.ones(()), torch.ones(0, 2), torch.ones(2) * 1j]
)
def test_what_cannot_be_hashed_is_left_alone(tensor: Tensor) -> None:
    assert row_hashes(tensor) is None
    assert values_hash(tensor) is None
    assert plain_and_sorted_hashes((tensor,)) is None
    assert not is_continuous(tensor)


def test_sparse_and_nested_batches_are_watched(tmp_path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SPARSE, encoding="utf-8")
    assert watched(script).status == 0  # `watched` fails if an observer failed


SPARSE = """
import torch
from torch import nn
from torch.utils.data import DataLoader

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6, 1))
    def forward(self, given):
        dense = torch.nested.to_padded_tensor(given, 0.0, (4, 6)) if given.is_nested else given.to_dense()
        return dense.float() @ self.weight

def sparse(rows):
    return torch.stack(rows).to_sparse(), torch.ones(len(rows), 1)

def integers(rows):
    return torch.stack(rows).long().to_sparse(), torch.ones(len(rows), 1)

def nested(rows):
    return torch.nested.nested_tensor([row[: 2 + i] for i, row in enumerate(rows)]), torch.ones(len(rows), 1)

model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for collate in (sparse, integers, nested):
    for epoch in range(2):
        for given, target in DataLoader(torch.eye(6)[[0, 1, 2, 3]], batch_size=4, collate_fn=collate):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(given=given) if epoch else model(given), target)
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize("kind", [torch.tensor, np.array])
@pytest.mark.parametrize(("before", "after"), [(2**24, 2**24 + 1), (1.0, 2.0)])
def test_a_changed_value_is_seen(kind, before: float, after: float) -> None:
    assert values_hash(kind([before, 3])) == values_hash(kind([before, 3]))
    assert values_hash(kind([before, 3])) != values_hash(kind([after, 3]))


def test_a_changed_value_in_a_list_is_seen() -> None:
    assert values_hash([(torch.ones(2), 1)]) == values_hash([(torch.ones(2), 1)])
    assert values_hash([(torch.ones(2), 1)]) != values_hash([(torch.zeros(2), 1)])


@pytest.mark.parametrize("thing", [3, "a", [], [1, 2], np.array(["a"]), np.array([True]), [np.ones(2)]])
def test_other_things_have_no_hash(thing: object) -> None:
    assert values_hash(thing) is None


def test_an_array_may_lie_in_memory_in_any_way() -> None:
    array = np.arange(12.0).reshape(3, 4)
    assert values_hash(array[::-1, ::-1]) == values_hash(np.ascontiguousarray(array[::-1, ::-1]))
    assert values_hash(array.astype(">f8")) == values_hash(array)


def test_a_mirror_image_has_the_same_entries() -> None:
    pictures = torch.randn(2, 3, 40, 40)
    found, mirrored = (
        plain_and_sorted_hashes((pictures, pictures)),
        plain_and_sorted_hashes((pictures.flip(-1),)),
    )
    assert found is not None
    assert mirrored is not None
    assert found[:, 1].tolist() == mirrored[:, 1].tolist()
    assert not set(found[:, 0].tolist()) & set(mirrored[:, 0].tolist())


def test_a_mask_of_another_area_has_other_entries() -> None:
    """Also where a row has more entries than are looked at of a plain row."""
    masks = torch.zeros(40, 100 * 100)
    for area, mask in enumerate(masks, start=1000):
        mask[:area] = 1
    pairs = [plain_and_sorted_hashes(masks[start : start + 16].reshape(-1, 1, 100, 100)) for start in (0, 16)]
    found = [one for pair in pairs if pair is not None for one in pair[:, 1].tolist()]
    assert len(set(found)) == len(found) == 32


@pytest.mark.parametrize("shape", [(2, 3), (2, 40, 2), (2, 32, 32, 3), (2, 3, 200, 200), (0, 8, 8)])
def test_what_is_no_small_picture_is_not_sorted(shape: tuple[int, ...]) -> None:
    assert plain_and_sorted_hashes(torch.zeros(shape)) is None


def test_real_numbers_are_continuous() -> None:
    assert is_continuous(torch.randn(2, 20))
    assert not is_continuous(torch.zeros(2, 20))
    assert not is_continuous(torch.arange(40).reshape(2, 20))


def test_a_dark_border_leaves_a_picture_continuous() -> None:
    picture = torch.zeros(1, 1, 100, 100)
    picture[..., 30:] = torch.rand(100, 70)
    picture[..., :30, :] = 0
    assert is_continuous(picture)


def test_windows_of_one_series_share_pieces_at_other_places() -> None:
    """They are told from rows whose edges are equal by nature, such as those of pictures."""
    series = torch.randn(40)
    found = piece_hashes(torch.stack([series[:12], series[5:17]]))
    assert found is not None
    assert found[0, 5:].tolist() == found[1, :4].tolist()
    flat = piece_hashes(torch.zeros(3, 12))
    assert flat is not None
    assert not flat.any()


@pytest.mark.parametrize(
    "batch", [torch.zeros(4, 7), torch.zeros(4, 300), torch.ones(4, 12).long(), *UNREADABLE.values()]
)
def test_rows_without_pieces(batch: Tensor) -> None:
    assert piece_hashes(batch) is None
