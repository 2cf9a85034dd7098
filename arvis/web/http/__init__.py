"""HTTP basics: endpoints, requests, errors, rate limits, schemas, files."""
