"""In and out: a shelf as an archive, a list of feeds as OPML, a database of ReedMe or Fusion."""
