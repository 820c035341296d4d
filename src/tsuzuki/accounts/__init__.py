"""Who may do what, and who did: tenants, people, sign-in, sessions, tokens, the audit log."""
