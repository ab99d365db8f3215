# A value that resists being read.
class Wild:
    @property
    def __class__(self):
        return float

    def __float__(self):
        raise KeyboardInterrupt

    def __getattr__(self, name):
        raise BaseException(name)


def first(model, opt, xb):
    return Wild()
