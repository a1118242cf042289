import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(8, 8) for _ in range(3)]

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


if __name__ == "__main__":
    print(f"{Net()}")
