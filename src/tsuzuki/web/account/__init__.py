"""One's own account: who I am, my devices, my tokens, my password, my identity at the provider."""
