"""A shelf with all its state as one documented file, out of one server and into another. docs/archive.md."""
