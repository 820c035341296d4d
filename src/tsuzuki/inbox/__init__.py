"""What readers read from: lists, marks, counts, search and events, for pages, the API and other clients."""
