"""The composition root: what each area is given, the loops of the pipeline, and the server."""
