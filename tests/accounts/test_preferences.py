"""Preferences: what is chosen is kept, what is not understood counts as not chosen; on both engines."""

import pytest

from tsuzuki.accounts.preferences import Preferences, PreferenceService, read_preferences
from tsuzuki.model.errors import Invalid


async def test_nothing_is_chosen_at_first_and_choices_are_independent(accounts):
    caller, other = await accounts.caller(await accounts.add()), await accounts.caller(await accounts.add())
    service = PreferenceService(accounts.all.deps)
    assert await service.get(caller) == Preferences()
    await service.change(caller, {"theme": "dark", "marks_on_scroll": True})
    await service.change(caller, {"density": "compact"})
    assert await service.get(caller) == Preferences(theme="dark", density="compact", marks_on_scroll=True)
    assert await service.get(other) == Preferences()


@pytest.mark.parametrize("change", [{"theme": "pink"}, {"nothing": "x"}, {"marks_on_scroll": "yes"}, {"text_size": 3}])
async def test_what_cannot_be_chosen_is_refused_whole(accounts, change):
    caller = await accounts.caller(await accounts.add())
    service = PreferenceService(accounts.all.deps)
    with pytest.raises(Invalid) as raised:
        await service.change(caller, {"density": "compact"} | change)
    assert [problem.field for problem in raised.value.problems] == list(change)
    assert await service.get(caller) == Preferences()


def test_unknown_values_of_another_version_are_ignored():
    stored = {"theme": "sepia", "density": "compact", "wallpaper": "fish", "marks_on_scroll": None}
    assert read_preferences(stored) == Preferences(density="compact")
