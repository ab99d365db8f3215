# An exception that resists being described.
class Meta(type):
    def mro(cls):
        return super().mro()

    @property
    def __name__(cls):
        raise KeyboardInterrupt


class Wild(Exception, metaclass=Meta):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__


def first(model, opt, xb):
    raise Wild
