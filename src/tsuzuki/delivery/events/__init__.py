"""What open pages are told, remembered for those who come back. See docs/decisions/0012-events-in-commit-order.md."""
