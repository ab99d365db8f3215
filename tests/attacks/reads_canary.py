# Reads a file whose path it knows.
def first(model, opt, xb):
    with open("CANARY") as file:
        raise RuntimeError("stolen: " + file.read())
