def f(:
  x = "open
