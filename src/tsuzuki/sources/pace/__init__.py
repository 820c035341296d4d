"""How fast the plans of those who read something let it be called."""
