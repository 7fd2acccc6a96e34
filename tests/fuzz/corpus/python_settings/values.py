a = 2 ** 3 + 4 * -(5 // 2) % 7
d = {"x": [1, (2,), dict(y=a)], "z": None}
b = d["x"]
if a:
    c = 1
c += 2
x = y = f"{a}"; z: int = int(float(3) / 2)
