"""Values without a counterpart in Python: they print, and are arguments again."""

import re

import numpy as np
import pytest
from models import zoo

import hammock


def builtin(name, *args):
    return hammock.get_global_func(name)(*args)


STORAGE = """
@R.function(pure=False)
def main() -> R.Object:
    s: R.Object = R.vm.alloc_storage(R.shape([64]), R.prim_value(0), R.dtype("uint8"))
    return s
"""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (lambda: builtin("hammock.kv_pages.create", 8, 4), r"<hammock\.Object Pages at 0x[0-9a-f]+>"),
        (
            lambda: builtin("vm.builtin.alloc_adt", 1, np.float32(2), (3, "text")),
            r'<hammock\.Object Adt\(tag=1, fields=\(2\.0, \(3, "text"\)\)\)>',
        ),
        (lambda: hammock.compile(STORAGE)(), r"<hammock\.Object Storage\(bytes=\d+, device=cpu.*, address=.*\)>"),
    ],
    ids=["opaque", "adt", "storage"],
)
def test_objects_print_and_cross(value, shown):
    value = value()
    assert isinstance(value, hammock.Object)
    assert re.fullmatch(shown, repr(value)), repr(value)
    assert repr(zoo().same(value)) == repr(hammock.convert(lambda x: x)(value)) == repr(value)
