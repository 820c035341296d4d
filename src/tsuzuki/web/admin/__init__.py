"""The operator's desk: how the server fares, and what can be done about it. For administrators."""
