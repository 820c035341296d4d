"""Progress: how far each chapter was read, on whichever device, and the history of it."""
