"""The document of a workflow: nodes, edges, fields, kinds."""
