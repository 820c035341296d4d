"""One frozen `Settings`, read once from the TSUZUKI_* variables."""

from tsuzuki.settings.loader import (
    BadSetting,
    EffectiveSetting,
    checkout,
    effective,
    read_env_file,
    read_settings,
    unknown_variables,
)
from tsuzuki.settings.table import PREFIX, Settings, Variable, variables

__all__ = [
    "PREFIX",
    "BadSetting",
    "EffectiveSetting",
    "Settings",
    "Variable",
    "checkout",
    "effective",
    "read_env_file",
    "read_settings",
    "unknown_variables",
    "variables",
]
