"""What outages are told to: the receiver and the workers of notifications."""

from tests.notifications.conftest import office, receiver

__all__ = ["office", "receiver"]
