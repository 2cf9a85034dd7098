"""One suite per port: subclass it, give it your implementation, and every rule of the port is tested."""
