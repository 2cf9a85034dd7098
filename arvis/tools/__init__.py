"""What models may ask for: the registry, the policy, and the tools of Arvis, one file each."""
