"""What open pages are told, remembered for those who come back. See docs/decisions/0014-events-in-commit-order.md."""
