"""JSON under /api/v1: one module per domain. docs/api.md says how to add an endpoint."""

PREFIX = "/api/v1"
