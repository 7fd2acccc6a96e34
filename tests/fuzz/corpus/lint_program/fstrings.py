f"""{x!r:{w}.{p}} {{}} {f'{y["a"]}'} \N{BULLET}"""
while x
  y
if a: if b: c
@
