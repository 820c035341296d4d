"""The schema, in numbered steps per engine."""
