def first(model, opt, xb):
    while True:
        print("출력" * 1000)
