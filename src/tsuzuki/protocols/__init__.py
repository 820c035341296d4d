"""What reader apps speak: one module per protocol, over the same services as the pages."""
