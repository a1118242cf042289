//! Memory pools: attributes and statistics. Memory itself is never pooled.
use super::{Code, Driver, Handle, Result};

/// A memory pool.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) device: u32,
    /// True if it is the device's default pool.
    is_default: bool,
    /// True if it is the device's current pool.
    is_current: bool,
    release_threshold: u64,
    /// Flags of reuse (attributes 1 to 3).
    reuse: [i32; 3],
    /// Bytes that are allocated, and the highest number of them so far.
    used: u64,
    highest: u64,
}

/// The value of a pool's attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolValue {
    /// An `int`.
    Flag(i32),
    /// A `cuuint64_t`.
    Bytes(u64),
}

impl Driver {
    pub(super) fn create_default_pools(&mut self) {
        for device in 0..self.config.devices {
            self.new_pool(device, true);
        }
    }

    fn new_pool(&mut self, device: u32, is_default: bool) -> Handle {
        let pool = self.new_handle();
        let object = Pool {
            device,
            is_default,
            is_current: is_default,
            release_threshold: 0,
            reuse: [1; 3],
            used: 0,
            highest: 0,
        };
        self.pools.insert(pool, object);
        pool
    }

    /// Creates a pool on a device.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn create_pool(&mut self, device: i32) -> Result<Handle> {
        let device = self.device(device)?;
        Ok(self.new_pool(device, false))
    }

    /// Destroys a pool. Its allocations remain.
    ///
    /// # Errors
    /// If there is no such pool, or it is a default pool.
    pub fn destroy_pool(&mut self, pool: Handle) -> Result {
        let Pool { device, is_default, is_current, .. } = *self.pools.get(pool)?;
        if is_default {
            return Err(Code::INVALID_VALUE);
        }
        self.pools.remove(pool)?;
        if is_current {
            let default = self.default_pool(device as i32)?;
            self.pools.get_mut(default)?.is_current = true;
        }
        Ok(())
    }

    /// Returns the default pool of a device.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn default_pool(&self, device: i32) -> Result<Handle> {
        let device = self.device(device)?;
        let found = self.pools.iter().find(|(_, pool)| pool.device == device && pool.is_default);
        found.map(|(handle, _)| handle).ok_or(Code::INVALID_DEVICE)
    }

    /// Returns the current pool of a device.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn current_pool(&self, device: i32) -> Result<Handle> {
        self.pool_of(self.device(device)?)
    }

    pub(super) fn pool_of(&self, device: u32) -> Result<Handle> {
        let found = self.pools.iter().find(|(_, pool)| pool.device == device && pool.is_current);
        found.map(|(handle, _)| handle).ok_or(Code::INVALID_DEVICE)
    }

    /// Makes a pool the current one of its device.
    ///
    /// # Errors
    /// If there is no such device or pool, or the pool is another device's.
    pub fn set_pool(&mut self, device: i32, pool: Handle) -> Result {
        let device = self.device(device)?;
        if self.pools.get(pool)?.device != device {
            return Err(Code::INVALID_VALUE);
        }
        for other in self.pools.values_mut().filter(|other| other.device == device) {
            other.is_current = false;
        }
        self.pools.get_mut(pool)?.is_current = true;
        Ok(())
    }

    /// Checks a pool, from which unused memory would be released. There is none.
    ///
    /// # Errors
    /// If there is no such pool.
    pub fn trim_pool(&self, pool: Handle) -> Result {
        self.pools.get(pool).map(|_| ())
    }

    /// Returns an attribute of a pool.
    ///
    /// # Errors
    /// If there is no such pool or attribute.
    pub fn pool_attribute(&self, pool: Handle, attribute: u32) -> Result<PoolValue> {
        let object = self.pools.get(pool)?;
        Ok(match attribute {
            1..=3 => PoolValue::Flag(object.reuse[attribute as usize - 1]),
            4 => PoolValue::Bytes(object.release_threshold),
            5 | 7 => PoolValue::Bytes(object.used),
            6 | 8 => PoolValue::Bytes(object.highest),
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    /// Returns true if a pool's attribute is a number of bytes, not a flag.
    pub fn is_pool_attribute_bytes(attribute: u32) -> bool {
        (4..=8).contains(&attribute)
    }

    /// Sets an attribute of a pool.
    ///
    /// # Errors
    /// If there is no such pool or attribute, or the attribute cannot have the value.
    pub fn set_pool_attribute(&mut self, pool: Handle, attribute: u32, value: PoolValue) -> Result {
        let object = self.pools.get_mut(pool)?;
        match (attribute, value) {
            (1..=3, PoolValue::Flag(flag)) => object.reuse[attribute as usize - 1] = flag,
            (4, PoolValue::Bytes(bytes)) => object.release_threshold = bytes,
            // Highest values can only be set back.
            (6 | 8, PoolValue::Bytes(0)) => object.highest = object.used,
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    /// Counts bytes that are allocated from a pool.
    pub(super) fn add_pool_use(&mut self, pool: Option<Handle>, bytes: u64) {
        if let Some(object) = pool.and_then(|pool| self.pools.get_mut(pool).ok()) {
            object.used += bytes;
            object.highest = object.highest.max(object.used);
        }
    }

    /// Counts bytes that are freed.
    pub(super) fn remove_pool_use(&mut self, pool: Option<Handle>, bytes: u64) {
        if let Some(object) = pool.and_then(|pool| self.pools.get_mut(pool).ok()) {
            object.used -= bytes;
        }
    }
}
