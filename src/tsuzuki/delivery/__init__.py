"""What was stored comes to those who follow it: entries in inboxes, events for open pages, notices through channels."""
