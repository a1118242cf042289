//! Contexts: primary ones with a count of references, others, and the current one of each thread.
use super::{Code, Driver, Handle, Leaks, Result, queue::OpId, streams::Stream};
use rustc_hash::FxHashMap;
use std::thread::ThreadId;

/// A context.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) device: u32,
    pub(super) flags: u32,
    /// Its legacy default stream.
    pub(super) legacy: Handle,
    /// Its default streams of single threads.
    pub(super) per_thread: FxHashMap<ThreadId, Handle>,
    /// Bits of the devices whose memory its kernels can access beside its own device's.
    pub(super) peers: u64,
    /// The error that ended it: every later call returns it.
    pub(super) fault: Option<Code>,
    /// Last operations of blocking streams that were destroyed.
    pub(super) detached: Vec<OpId>,
    pub(super) cache_config: u32,
    limits: FxHashMap<u32, usize>,
}

/// The primary context of a device.
#[derive(Debug, Clone, Default)]
pub(super) struct Primary {
    context: Option<Handle>,
    references: u32,
    flags: u32,
}

/// Limits (`CUlimit`) that can be read and set: number, initial value.
const LIMITS: &[(u32, usize)] = &[(0, 1 << 10), (1, 1 << 20), (2, 8 << 20)];

impl Driver {
    /// Creates a context and makes it current.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn create_context(&mut self, flags: u32, device: i32) -> Result<Handle> {
        let device = self.device(device)?;
        let context = self.new_context(flags, device);
        self.thread().contexts.push(context);
        Ok(context)
    }

    fn new_context(&mut self, flags: u32, device: u32) -> Handle {
        let (context, legacy) = (self.new_handle(), self.new_handle());
        self.streams.insert(legacy, Stream::legacy(context));
        let object = Context {
            device,
            flags,
            legacy,
            per_thread: FxHashMap::default(),
            peers: 0,
            fault: None,
            detached: Vec::new(),
            cache_config: 0,
            limits: LIMITS.iter().copied().collect(),
        };
        self.contexts.insert(context, object);
        context
    }

    /// Destroys a context that is not primary.
    ///
    /// # Errors
    /// If there is no such context, it is primary, or it leaks.
    pub fn destroy_context(&mut self, context: Handle) -> Result {
        self.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?;
        if self.primaries.iter().any(|primary| primary.context == Some(context)) {
            return Err(Code::INVALID_CONTEXT);
        }
        let thread = self.thread();
        if thread.contexts.last() == Some(&context) {
            thread.contexts.pop();
        }
        self.end_context(context)
    }

    /// Adds a reference to a device's primary context, which it creates if there is none.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn retain_primary(&mut self, device: i32) -> Result<Handle> {
        let device = self.device(device)?;
        let Primary { context, flags, .. } = self.primaries[device as usize];
        let context = context.unwrap_or_else(|| self.new_context(flags, device));
        let primary = &mut self.primaries[device as usize];
        primary.context = Some(context);
        primary.references += 1;
        Ok(context)
    }

    /// Removes a reference to a device's primary context; the last one destroys it.
    ///
    /// # Errors
    /// If there is no such device or no reference, or the context leaks.
    pub fn release_primary(&mut self, device: i32) -> Result {
        let device = self.device(device)? as usize;
        let primary = &mut self.primaries[device];
        primary.references = primary.references.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
        if primary.references > 0 {
            return Ok(());
        }
        primary.context.take().map_or(Ok(()), |context| self.end_context(context))
    }

    /// Destroys a device's primary context, whoever refers to it.
    ///
    /// # Errors
    /// If there is no such device, or the context leaks.
    pub fn reset_primary(&mut self, device: i32) -> Result {
        let device = self.device(device)? as usize;
        self.primaries[device].references = 0;
        self.primaries[device].context.take().map_or(Ok(()), |context| self.end_context(context))
    }

    /// Returns the flags of a device's primary context, and if it is active.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn primary_state(&self, device: i32) -> Result<(u32, bool)> {
        let primary = &self.primaries[self.device(device)? as usize];
        Ok((primary.flags, primary.context.is_some()))
    }

    /// Sets the flags of a device's primary context.
    ///
    /// # Errors
    /// If there is no such device.
    pub fn set_primary_flags(&mut self, device: i32, flags: u32) -> Result {
        let device = self.device(device)? as usize;
        self.primaries[device].flags = flags;
        if let Some(context) = self.primaries[device].context {
            self.contexts.get_mut(context)?.flags = flags;
        }
        Ok(())
    }

    fn end_context(&mut self, context: Handle) -> Result {
        let had_fault = self.contexts.get(context)?.fault.is_some();
        self.drain(context);
        // What an earlier fault left behind is no new error.
        let is_clean = self.report_leaks(context) || had_fault;
        self.remove_objects(context);
        if is_clean || self.config.leaks == Leaks::Report { Ok(()) } else { Err(Code::ILLEGAL_STATE) }
    }

    /// Makes a context current, or none if it is 0.
    ///
    /// # Errors
    /// If there is no such context.
    pub fn set_current(&mut self, context: Handle) -> Result {
        if context != 0 {
            self.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?;
        }
        let thread = self.thread();
        thread.contexts.pop();
        thread.contexts.extend((context != 0).then_some(context));
        Ok(())
    }

    /// Pushes a context.
    ///
    /// # Errors
    /// If there is no such context.
    pub fn push_current(&mut self, context: Handle) -> Result {
        self.contexts.get(context).map_err(|_| Code::INVALID_CONTEXT)?;
        self.thread().contexts.push(context);
        Ok(())
    }

    /// Pops the current context.
    ///
    /// # Errors
    /// If there is none.
    pub fn pop_current(&mut self) -> Result<Handle> {
        self.thread().contexts.pop().ok_or(Code::INVALID_CONTEXT)
    }

    /// Returns the current context, 0 if there is none.
    pub fn current_or_none(&mut self) -> Handle {
        self.thread().contexts.last().copied().unwrap_or_default()
    }

    /// Returns the current context.
    ///
    /// # Errors
    /// If there is none, it was destroyed, or an earlier fault ended it.
    pub(super) fn current(&mut self) -> Result<Handle> {
        let context = self.thread().contexts.last().copied().ok_or(Code::INVALID_CONTEXT)?;
        self.healthy(context).map(|_| context)
    }

    /// Returns a context's data.
    ///
    /// # Errors
    /// If it was destroyed, or an earlier fault ended it.
    pub(super) fn healthy(&self, context: Handle) -> Result<&Context> {
        let object = self.contexts.get(context).map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
        object.fault.map_or(Ok(object), Err)
    }

    /// Returns the current context's data.
    ///
    /// # Errors
    /// As for `current`.
    pub(super) fn context(&mut self) -> Result<&mut Context> {
        let context = self.current()?;
        self.contexts.get_mut(context)
    }

    /// Returns the device of the current context.
    ///
    /// # Errors
    /// If there is no current context.
    pub fn current_device(&mut self) -> Result<u32> {
        self.context().map(|context| context.device)
    }

    /// Returns the flags of the current context.
    ///
    /// # Errors
    /// If there is no current context.
    pub fn context_flags(&mut self) -> Result<u32> {
        self.context().map(|context| context.flags)
    }

    /// Sets the flags of the current context.
    ///
    /// # Errors
    /// If there is no current context.
    pub fn set_context_flags(&mut self, flags: u32) -> Result {
        self.context()?.flags = flags;
        Ok(())
    }

    /// Returns a limit of the current context.
    ///
    /// # Errors
    /// If there is no current context, or no such limit.
    pub fn limit(&mut self, limit: u32) -> Result<usize> {
        self.context()?.limits.get(&limit).copied().ok_or(Code::UNSUPPORTED_LIMIT)
    }

    /// Sets a limit of the current context.
    ///
    /// # Errors
    /// If there is no current context, or no such limit.
    pub fn set_limit(&mut self, limit: u32, value: usize) -> Result {
        *self.context()?.limits.get_mut(&limit).ok_or(Code::UNSUPPORTED_LIMIT)? = value;
        Ok(())
    }

    /// Returns the current context's preference for caches.
    ///
    /// # Errors
    /// If there is no current context.
    pub fn cache_config(&mut self) -> Result<u32> {
        self.context().map(|context| context.cache_config)
    }

    /// Sets the current context's preference for caches.
    ///
    /// # Errors
    /// If there is no current context, or no such preference.
    pub fn set_cache_config(&mut self, config: u32) -> Result {
        if config > 3 {
            return Err(Code::INVALID_VALUE);
        }
        self.context()?.cache_config = config;
        Ok(())
    }

    /// Waits for all work of the current context.
    ///
    /// # Errors
    /// If a stream of the context is being captured, or the work fails.
    pub fn synchronize_context(&mut self) -> Result {
        let context = self.current()?;
        self.refuse_captures_of(context)?;
        let ops = self.queue.of_context(context);
        self.settle(context, &ops)
    }

    /// Lets kernels of the current context access memory of another context's device.
    ///
    /// # Errors
    /// If it is the same device, or it was done already.
    pub fn enable_peer_access(&mut self, peer: Handle, flags: u32) -> Result {
        let device = self.contexts.get(peer).map_err(|_| Code::INVALID_CONTEXT)?.device;
        let context = self.context()?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if context.device == device {
            return Err(Code::INVALID_DEVICE);
        }
        if context.peers >> device & 1 == 1 {
            return Err(Code::PEER_ACCESS_ALREADY_ENABLED);
        }
        context.peers |= 1 << device;
        Ok(())
    }

    /// Takes back what `enable_peer_access` allowed.
    ///
    /// # Errors
    /// If it was not allowed.
    pub fn disable_peer_access(&mut self, peer: Handle) -> Result {
        let device = self.contexts.get(peer).map_err(|_| Code::INVALID_CONTEXT)?.device;
        let context = self.context()?;
        if context.peers >> device & 1 == 0 {
            return Err(Code::PEER_ACCESS_NOT_ENABLED);
        }
        context.peers &= !(1 << device);
        Ok(())
    }
}
