class Text(str):
    def __getitem__(self, item):
        return object()


class Wild(BaseException):
    def __str__(self):
        return Text("x")


def first(model, opt, xb):
    raise Wild
