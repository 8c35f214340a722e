class FrontPoint:
    def __init__(self, *a):
        self.point, self.values, self.trial, self.constraints = a


class Front(list):
    def __init__(self, points, senses, reference):
        super().__init__(points)
