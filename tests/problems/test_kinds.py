"""Kinds of problems by name: in plain form, or refused in one sentence."""

import pytest

from loadstone.problems.kinds import check_kind, is_grouped, sets_of_outputs


def test_names_in_plain_form():
    assert [check_kind(kind) for kind in ("original", "decoupled", "groups:8", "groups:08", "groups:2147483647")] == [
        "original", "decoupled", "groups:8", "groups:8", "groups:2147483647",
    ]  # fmt: skip
    assert check_kind("groups:1") == "original"
    assert is_grouped("groups:8") and not is_grouped("original") and not is_grouped("decoupled")


def test_how_many_sets_of_outputs_there_are():
    assert [sets_of_outputs(kind, 20) for kind in ("original", "groups:8", "groups:30", "decoupled")] == [1, 8, 20, 20]


@pytest.mark.parametrize("wrong", ["group:3", "groups", "groups:", "groups:0", "groups:-2", "groups:2.5", "groups:²",
                                   "groups:2147483648", "groups:" + "9" * 5000, "Original", 3, None])  # fmt: skip
def test_other_names_are_refused_in_one_sentence(wrong):
    with pytest.raises(ValueError, match="^problem is .* must be one of original, decoupled, groups:g with") as found:
        check_kind(wrong)
    assert len(str(found.value)) < 500
