"""What happened to tenants and what they rent: the log that the ledger is made from."""
