"""Training steps in PyTorch as a plan describes them. Plans are dictionaries of sections that hold
every key, as `foreshard plan --from` writes them."""
