"""`tsuzuki demo`: a publisher on this machine with something new every few seconds, and a reader who follows it."""
