"""Sources described in a YAML or JSON file, without code."""
