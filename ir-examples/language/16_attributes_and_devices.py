# Modules and functions carry attributes; devices are declared once and named in types: "llvm:0:global" is the first device
# of that kind, and the memory of it.
#
# $ hammock check 16_attributes_and_devices.py
# $ hammock opt 16_attributes_and_devices.py | grep -c vdevice
# 4
# $ hammock run 16_attributes_and_devices.py --device cpu:0,cpu:1 --arg '[0, 1]:float32'
# float32[2]
# [      1.0 2.7182817]
#
# `--device` maps device numbers to devices. The host counts as several, so that such modules can be tried
# anywhere: cpu:1 has memory of its own, `to_vdevice` copies between devices, and memory is counted per device.
# `R.hint_on_device(x, R.device(1, 1))` moves a tensor without a type annotation.

from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    I.module_attrs({"version": 3})
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("llvm", 1)]})
    @R.function
    def main(x: R.Tensor((2,), dtype="float32", vdevice="llvm:0")):
        R.func_attr({"num_input": 1})
        y = R.to_vdevice(x, dst_vdevice="llvm:1")
        z = R.exp(y)
        return z
