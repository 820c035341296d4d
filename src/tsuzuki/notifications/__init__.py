"""Notifications: channels, what is sent to them, and the alerts of outages."""
