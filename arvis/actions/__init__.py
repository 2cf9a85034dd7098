"""What replies set going: one gate, and what it lets pass (ARCHITECTURE.md, floor 5)."""
