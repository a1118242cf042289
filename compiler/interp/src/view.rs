//! Views: buffers at run time.

use crate::{Fault, Interpreter, Pointer};
use hammock_ir::{
    DType, Name,
    tir::{Buffer, MatchBuffer},
};
use std::rc::Rc;

/// A buffer with all its sizes known.
pub struct View {
    /// The first element.
    pub base: Pointer,
    /// Size of each dimension.
    pub shape: Vec<i64>,
    /// Stride of each dimension, in elements.
    pub strides: Vec<i64>,
    /// Element type.
    pub dtype: DType,
    /// The buffer's name, for messages.
    pub name: Name,
}

impl View {
    /// Returns the position of an element, in elements from the first.
    pub fn position(&self, indices: impl ExactSizeIterator<Item = i64>) -> Result<i64, Fault> {
        if indices.len() != self.shape.len() {
            let (expected, actual) = (self.shape.len(), indices.len());
            return Err(Fault::IndexCount { buffer: self.name.clone(), expected, actual });
        }
        let mut position = 0i64;
        for (axis, index) in indices.enumerate() {
            let extent = self.shape[axis];
            if index < 0 || index >= extent {
                return Err(Fault::OutOfBounds { buffer: self.name.clone(), axis, index, extent });
            }
            position = position.wrapping_add(index.wrapping_mul(self.strides[axis]));
        }
        Ok(position)
    }
}

/// Row-major strides of a compact buffer.
pub fn compact_strides(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis]);
    }
    strides
}

/// Returns the number of elements from the first to the last of a strided box; zero for an empty one.
pub fn span(shape: &[i64], strides: &[i64]) -> i64 {
    if shape.iter().any(|n| *n <= 0) {
        return 0;
    }
    shape.iter().zip(strides).fold(1i64, |sum, (n, s)| sum.saturating_add((n - 1).saturating_mul(*s)))
}

impl Interpreter {
    /// Returns the view of a buffer: the declared one, or one with the buffer's own sizes and pointer.
    pub fn view(&mut self, buffer: &Buffer) -> Result<Rc<View>, Fault> {
        match self.views.get(buffer) {
            Some(view) => Ok(view.clone()),
            None => Ok(Rc::new(self.view_over_data(buffer)?)),
        }
    }

    /// Declares the view of a buffer whose pointer is bound.
    pub fn declare(&mut self, buffer: &Buffer) -> Result<(), Fault> {
        let view = self.view_over_data(buffer)?;
        self.views.insert(buffer.clone(), Rc::new(view));
        Ok(())
    }

    /// Declares the view of a buffer of one dimension whose size is not its own.
    pub fn declare_as(&mut self, buffer: &Buffer, shape: Vec<i64>) -> Result<(), Fault> {
        let base = self.variable(&buffer.data)?.pointer()?;
        let (strides, name) = (compact_strides(&shape), buffer.name.clone());
        self.views.insert(buffer.clone(), Rc::new(View { base, shape, strides, dtype: buffer.dtype, name }));
        Ok(())
    }

    /// Declares a buffer over existing memory, which must contain it.
    pub fn declare_inside(&mut self, buffer: &Buffer) -> Result<(), Fault> {
        let (shape, strides, offset) = self.sizes(buffer)?;
        let start = self.variable(&buffer.data)?.pointer()?;
        let natural = shape.iter().chain(&strides).all(|n| *n >= 0) && offset >= 0;
        let elements = span(&shape, &strides).saturating_add(offset);
        let bits = elements.saturating_mul(i64::from(buffer.dtype.bits) * i64::from(buffer.dtype.lanes));
        if !natural || self.heap.bits_behind(start).is_some_and(|rest| bits > rest) {
            return Err(Fault::BeyondMemory(buffer.name.clone()));
        }
        self.declare(buffer)
    }

    /// Allocates memory for a buffer and declares it.
    pub fn allocate(&mut self, buffer: &Buffer) -> Result<(), Fault> {
        let (shape, strides, offset) = self.sizes(buffer)?;
        if let Some(negative) = shape.iter().chain(&strides).chain([&offset]).find(|n| **n < 0) {
            return Err(Fault::AllocationSize(*negative));
        }
        let base = self.heap.allocate(span(&shape, &strides).saturating_add(offset), buffer.dtype)?;
        self.vars.insert(buffer.data.clone(), super::Value::Pointer(base));
        self.declare(buffer)
    }

    /// Declares a match region, and binds the variables in its declaration.
    pub fn match_buffer(&mut self, matched: &MatchBuffer) -> Result<(), Fault> {
        let (buffer, source) = (&matched.buffer, self.view(&matched.source.buffer)?);
        let mut corner = 0i64;
        let mut extents = Vec::new();
        for (axis, ((min, extent), stride)) in matched.source.ranges.iter().zip(&source.strides).enumerate() {
            let (min, extent) = (self.int(min)?, self.int(extent)?);
            if min < 0 || extent < 0 || min.saturating_add(extent) > source.shape[axis] {
                let (region, buffer, extent) = (buffer.name.clone(), source.name.clone(), source.shape[axis]);
                return Err(Fault::OutsideRegion { region, buffer, axis, extent });
            }
            corner = corner.wrapping_add(min.wrapping_mul(*stride));
            extents.push(extent);
        }
        let skip = extents.len().saturating_sub(buffer.ndim());
        for (dim, extent) in buffer.shape.iter().zip(extents.iter().skip(skip)) {
            self.bind_if_free(dim, *extent);
        }
        for (dim, stride) in buffer.strides.iter().zip(source.strides.iter().skip(skip)) {
            self.bind_if_free(dim, *stride);
        }
        if let Some(offset) = &buffer.elem_offset {
            self.bind_if_free(offset, corner);
        }
        let shape = buffer.shape.iter().map(|e| self.int(e)).collect::<Result<Vec<_>, _>>()?;
        for (axis, (size, extent)) in shape.iter().zip(extents.iter().skip(skip)).enumerate() {
            if size > extent {
                let (region, buffer) = (buffer.name.clone(), source.name.clone());
                return Err(Fault::OutsideRegion { region, buffer, axis: axis + skip, extent: *extent });
            }
        }
        let strides = match source.strides.get(skip..) {
            Some(tail) if tail.len() == shape.len() => tail.to_vec(),
            _ => compact_strides(&shape),
        };
        let base = source.base.offset(corner, source.dtype);
        self.vars.insert(buffer.data.clone(), super::Value::Pointer(base));
        let view = View { base, shape, strides, dtype: buffer.dtype, name: buffer.name.clone() };
        self.views.insert(buffer.clone(), Rc::new(view));
        Ok(())
    }

    fn view_over_data(&mut self, buffer: &Buffer) -> Result<View, Fault> {
        let base = self.variable(&buffer.data)?.pointer()?;
        let (shape, strides, offset) = self.sizes(buffer)?;
        let base = base.offset(offset, buffer.dtype);
        Ok(View { base, shape, strides, dtype: buffer.dtype, name: buffer.name.clone() })
    }

    /// Shape, strides and offset of a buffer.
    fn sizes(&mut self, buffer: &Buffer) -> Result<(Vec<i64>, Vec<i64>, i64), Fault> {
        let shape = buffer.shape.iter().map(|e| self.int(e)).collect::<Result<Vec<_>, _>>()?;
        let strides = match buffer.strides.as_slice() {
            [] => compact_strides(&shape),
            strides => strides.iter().map(|e| self.int(e)).collect::<Result<_, _>>()?,
        };
        let offset = buffer.elem_offset.as_ref().map_or(Ok(0), |e| self.int(e))?;
        Ok((shape, strides, offset))
    }
}
