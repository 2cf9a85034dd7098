"""The HTTP code that all routes share: endpoints, requests, errors, rate limits, schemas and files."""
