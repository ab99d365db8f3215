def zero_gradients(params):
    [p.__delattr__("grad") for p in params]
