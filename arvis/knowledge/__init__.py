"""The background work on knowledge bases: documents are fetched, read, divided into chunks and added to the search index."""
