class Stop(BaseException):
    pass


def first(model, opt, xb):
    raise Stop("아무도 잡지 않아요")
