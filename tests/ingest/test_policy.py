"""Which batches share a transaction."""

import pytest

from tsuzuki.ingest.service import LARGEST_BATCH, in_rounds

HALF = LARGEST_BATCH // 2


@pytest.mark.parametrize(
    ("batches", "groups"),
    [
        ([], []),
        (["a1"], [["a1"]]),
        (["a1", "b1", "c1"], [["a1", "b1", "c1"]]),
        (["a1", "a2", "b1"], [["a1", "b1"], ["a2"]]),
        (["a1", "b1", "a2", "a3", "b2"], [["a1", "b1"], ["a2", "b2"], ["a3"]]),
    ],
)
def test_two_of_one_feed_never_meet_and_keep_their_order(batches, groups):
    assert in_rounds(batches, of=lambda batch: ord(batch[0]), size=lambda _: 1) == groups


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([HALF, HALF, 1], [[HALF, HALF], [1]]),
        ([HALF + 1, HALF, HALF], [[HALF + 1], [HALF, HALF]]),
        ([1, LARGEST_BATCH, 1], [[1], [LARGEST_BATCH], [1]]),
        ([LARGEST_BATCH * 2, 1], [[LARGEST_BATCH * 2], [1]]),
    ],
)
def test_a_transaction_has_at_most_one_largest_batch(sizes, groups):
    numbered = list(enumerate(sizes))
    rounds = in_rounds(numbered, of=lambda batch: batch[0], size=lambda batch: batch[1])
    assert [[size for _, size in group] for group in rounds] == groups
