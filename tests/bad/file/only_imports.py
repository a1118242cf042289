from tvm.script import ir as I
from tvm.script import relax as R
