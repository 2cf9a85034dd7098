"""Tools that models may call: the registry, the policy, and the tools of Arvis, one file each."""
