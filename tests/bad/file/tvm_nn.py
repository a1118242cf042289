from tvm.relax.frontend import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: nn.Tensor):
        return self.fc(x)
