"""What outages are told to: the receiver and the workers of notifications."""

from tests.notifications.conftest import notifier, receiver

__all__ = ["notifier", "receiver"]
