"""Sources as the operator keeps them: registered, changed, enabled, deregistered."""
