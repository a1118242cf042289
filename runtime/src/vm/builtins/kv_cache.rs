//! KV caches: keys or values of past positions, stored between decoding steps.
//!
//! A cache is a tensor with spare capacity for more rows. Rows are written in place as long as there is no view of the
//! tensor; otherwise the cache continues with a copy, so that a view never changes.
use super::memory::on_device_of;
use crate::ffi::{Args, Error, kind};
use crate::value::{Device, Opaque, Shape, Tensor, Tuple, copy_bits};
use crate::vm::{Builtin, builtin::builtin};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.attention_kv_cache_create",
        create(rows: &Tensor, reserve: &Shape, filled: i64) -> "Cache",
        "Creates a KV cache with the shape `reserve` and copies the data into it; the first `filled` rows are valid \
         (-1 for all)."),
    builtin!("vm.builtin.attention_kv_cache_append", append(cache: &Opaque, rows: &Tensor) -> "Cache",
        "Appends rows to the cache and returns it."),
    builtin!("vm.builtin.attention_kv_cache_update", update(cache: &Opaque, rows: &Tensor) -> "Cache",
        "Replaces all rows of the cache and returns it."),
    builtin!("vm.builtin.attention_kv_cache_window_override",
        window_override(cache: &Opaque, rows: &Tensor, window: i64) -> "Cache",
        "Appends rows, overwriting the oldest once `window` rows are filled, and returns the cache."),
    builtin!("vm.builtin.attention_kv_cache_window_override_with_sinks",
        window_override_with_sinks(cache: &Opaque, rows: &Tensor, window: i64, sinks: i64) -> "Cache",
        "Appends rows as `window_override` does but never overwrites the first `sinks` rows; returns the cache."),
    builtin!("vm.builtin.attention_kv_cache_view", view(cache: &Opaque, shape: Option<&Shape>) -> "Tensor",
        "Returns the filled rows; if a shape is given, it must match theirs."),
    builtin!("vm.builtin.attention_kv_cache_array_popn", array_popn(caches: &Tuple, count: i64) -> "None",
        "Removes the last n rows of each cache."),
    builtin!("vm.builtin.attention_kv_cache_array_clear", array_clear(caches: &Tuple) -> "None",
        "Empties each cache."),
];

struct Cache(Mutex<Rows>);

struct Rows {
    /// Rows along the first dimension.
    data: Tensor,
    filled: usize,
    /// Next row that a windowed cache writes. Rows are in order of insertion if it is at the end; otherwise the window
    /// is a ring after the first `sinks` rows, with its oldest row here.
    position: usize,
    sinks: usize,
}

impl Rows {
    fn row_shape(&self) -> &[i64] {
        &self.data.shape()[1..]
    }

    fn room(&self) -> usize {
        self.data.shape()[0] as usize
    }

    /// Size of a row in bits: rows of types below a byte are packed.
    fn row_bits(&self) -> usize {
        self.row_shape().iter().map(|size| *size as usize).product::<usize>() * self.data.dtype().width()
    }

    /// The number of rows in `rows`, which must match the cache's row shape and dtype.
    fn count(&self, rows: &Tensor) -> Result<usize, Error> {
        match rows.shape() {
            [count, shape @ ..] if shape == self.row_shape() && rows.dtype() == self.data.dtype() => {
                Ok(*count as usize)
            }
            _ => Err(Error::value(format!("{rows:?} does not hold rows for a cache of {:?}", self.data))),
        }
    }

    fn as_view(&self) -> Result<Tensor, Error> {
        let shape: Vec<_> = [self.filled as i64].iter().chain(self.row_shape()).copied().collect();
        Ok(self.data.view(self.data.dtype(), &shape, 0)?)
    }

    /// Grows the capacity for `count` more rows, doubling it.
    fn reserve(&mut self, count: usize) -> Result<(), Error> {
        let mut room = self.room().max(1);
        while room < count {
            room = room.checked_mul(2).ok_or_else(|| Error::value(format!("a cache cannot hold {count} rows")))?;
        }
        if room > self.room() {
            self.reallocate(room)?;
        }
        Ok(())
    }

    fn reallocate(&mut self, room: usize) -> Result<(), Error> {
        let shape: Vec<_> = [room as i64].iter().chain(self.row_shape()).copied().collect();
        let data = empty_like(&self.data, &shape)?;
        data.overwrite_bytes(0, &self.data, 0, self.data.nbytes())?;
        self.data = data;
        Ok(())
    }

    /// Copies `count` rows of `rows`, starting with row `from`, to row `to` of the cache.
    fn write(&mut self, to: usize, rows: &Tensor, from: usize, count: usize) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let bits = self.row_bits();
        let rows = rows.to_dense()?;
        if !self.data.is_sole_owner() {
            self.reallocate(self.room())?;
        }
        if bits.is_multiple_of(8) {
            return self.data.overwrite_bytes(to * bits / 8, &rows, from * bits / 8, count * bits / 8);
        }
        // Rows that end within a byte are written on the host.
        let host = rows.to_device(Device::CPU)?;
        let mut data = if self.data.device().is_host() { None } else { Some(self.data.to_device(Device::CPU)?) };
        let target = data.as_mut().unwrap_or(&mut self.data);
        copy_bits(target.as_bytes_mut()?, to * bits, host.as_bytes()?, from * bits, count * bits);
        data.map_or(Ok(()), |data| self.data.overwrite(&data))
    }

    /// Rotates the ring so that rows are in order of insertion.
    fn linearize(&mut self) -> Result<(), Error> {
        if self.position == self.filled {
            return Ok(());
        }
        let (sinks, oldest, filled) = (self.sinks, self.position, self.filled);
        let old = self.data.clone();
        self.data = empty_like(&old, old.shape())?;
        self.write(0, &old, 0, sinks)?;
        self.write(sinks, &old, oldest, filled - oldest)?;
        self.write(sinks + filled - oldest, &old, sinks, oldest - sinks)?;
        self.position = filled;
        Ok(())
    }

    fn append(&mut self, rows: &Tensor) -> Result<(), Error> {
        let count = self.count(rows)?;
        let filled = total(self.filled, count)?;
        self.linearize()?;
        self.reserve(filled)?;
        self.write(self.filled, rows, 0, count)?;
        (self.filled, self.position) = (filled, filled);
        Ok(())
    }

    /// Removes the last inserted rows.
    fn remove(&mut self, count: usize) -> Result<(), Error> {
        if count > 0 {
            self.linearize()?;
            self.filled -= count;
            self.position = self.filled;
        }
        Ok(())
    }

    fn override_window(&mut self, rows: &Tensor, window: i64, sinks: i64) -> Result<(), Error> {
        let count = self.count(rows)?;
        let size =
            |value: i64| usize::try_from(value).map_err(|_| Error::value(format!("{value} is not a number of rows")));
        let (window, sinks) = (size(window)?, size(sinks)?);
        if count > window.saturating_sub(sinks) {
            return Err(Error::value(format!("{count} rows do not fit a window of {window} with {sinks} sink rows")));
        }
        if self.filled > window {
            return Err(Error::value(format!("the cache has {} rows, more than a window of {window}", self.filled)));
        }
        if self.filled < window || self.sinks != sinks {
            self.linearize()?;
        }
        self.sinks = sinks;
        self.reserve(total(self.filled, count)?.min(window))?;
        let before_end = count.min(window - self.position);
        self.write(self.position, rows, 0, before_end)?;
        self.write(sinks, rows, before_end, count - before_end)?;
        self.filled = (self.filled + count).min(window);
        self.position = match count - before_end {
            0 => self.position + count,
            wrapped => sinks + wrapped,
        };
        Ok(())
    }
}

/// A tensor of zeros with the dtype and on the device of another one.
fn empty_like(of: &Tensor, shape: &[i64]) -> Result<Tensor, Error> {
    let host = if of.device().is_host() { of.device() } else { Device::CPU };
    on_device_of(of, Tensor::empty(of.dtype(), shape, host)?)
}

fn total(rows: usize, more: usize) -> Result<usize, Error> {
    rows.checked_add(more).ok_or_else(|| Error::value(format!("a cache cannot hold {rows} and {more} rows")))
}

fn rows_of(cache: &Opaque) -> Result<MutexGuard<'_, Rows>, Error> {
    match cache.downcast::<Cache>() {
        Some(Cache(rows)) => Ok(rows.lock().unwrap_or_else(PoisonError::into_inner)),
        None => Err(Error::type_error("the value is not an attention cache")),
    }
}

fn create(rows: &Tensor, reserve: &Shape, filled: i64) -> Result<Opaque, Error> {
    if reserve.is_empty() {
        return Err(Error::value("a cache needs a dimension for its rows"));
    }
    let data = empty_like(rows, reserve)?;
    let mut cache = Rows { data, filled: 0, position: 0, sinks: 0 };
    cache.append(rows)?;
    if filled >= 0 {
        let filled = usize::try_from(filled).ok().filter(|filled| *filled <= cache.room());
        cache.filled =
            filled.ok_or_else(|| Error::value("the number of filled rows is larger than the number of rows"))?;
        cache.position = cache.filled;
    }
    Ok(Opaque::new(Cache(Mutex::new(cache))))
}

fn append(cache: &Opaque, rows: &Tensor) -> Result<Opaque, Error> {
    rows_of(cache)?.append(rows)?;
    Ok(cache.clone())
}

fn update(cache: &Opaque, rows: &Tensor) -> Result<Opaque, Error> {
    let mut filled = rows_of(cache)?;
    let count = filled.count(rows)?;
    if count != filled.filled {
        return Err(Error::value(format!("{count} rows cannot replace {} filled ones", filled.filled)));
    }
    filled.write(0, rows, 0, count)?;
    drop(filled);
    Ok(cache.clone())
}

fn window_override(cache: &Opaque, rows: &Tensor, window: i64) -> Result<Opaque, Error> {
    window_override_with_sinks(cache, rows, window, 0)
}

fn window_override_with_sinks(cache: &Opaque, rows: &Tensor, window: i64, sinks: i64) -> Result<Opaque, Error> {
    rows_of(cache)?.override_window(rows, window, sinks)?;
    Ok(cache.clone())
}

fn view(cache: &Opaque, shape: Option<&Shape>) -> Result<Tensor, Error> {
    let filled = rows_of(cache)?.as_view()?;
    match shape {
        Some(shape) if shape.as_slice() != filled.shape() => {
            Err(Error::value(format!("the cache's rows are {}, not {shape}", Shape::new(filled.shape()))))
        }
        _ => Ok(filled),
    }
}

fn each(caches: &Tuple, mut change: impl FnMut(&mut Rows) -> Result<(), Error>) -> Result<(), Error> {
    let args = Args::new("attention_kv_cache", caches);
    (0..caches.len()).try_for_each(|i| change(&mut *rows_of(args.get(i)?)?))
}

fn array_popn(caches: &Tuple, count: i64) -> Result<(), Error> {
    each(caches, |rows| {
        let left = usize::try_from(count).ok().and_then(|count| rows.filled.checked_sub(count));
        let too_many = || Error::new(kind::INDEX, format!("cannot take {count} of {} rows", rows.filled));
        rows.remove(rows.filled - left.ok_or_else(too_many)?)
    })
}

fn array_clear(caches: &Tuple) -> Result<(), Error> {
    each(caches, |rows| {
        (rows.filled, rows.position, rows.sinks) = (0, 0, 0);
        Ok(())
    })
}
