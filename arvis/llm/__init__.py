"""Model calls: select an account, call its provider, retry after temporary errors, and return the receipts."""
