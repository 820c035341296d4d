"""What tenants pay: activity -> items -> invoices -> settlement."""
