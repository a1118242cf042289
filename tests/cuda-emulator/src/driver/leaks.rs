//! Leaks: objects of a context that the program did not destroy.
use super::{Driver, Handle};

impl Driver {
    /// Reports what a context has that the program did not destroy. Returns true if there is nothing. After a fault
    /// nothing is reported, as calls that destroy fail then.
    pub(super) fn report_leaks(&mut self, context: Handle) -> bool {
        if self.contexts.get(context).is_ok_and(|context| context.fault.is_some()) {
            return false;
        }
        let leaks = self.leaks_of(context);
        if leaks.is_empty() {
            return true;
        }
        self.report(format!("leaks of the context: {}", leaks.join(", ")));
        false
    }

    /// Returns what all contexts have at present, such as `allocation of 16 bytes at 0x1000000000200`.
    pub fn live_objects(&self) -> Vec<String> {
        let mut contexts: Vec<Handle> = self.contexts.iter().map(|(handle, _)| handle).collect();
        contexts.sort_unstable();
        contexts.into_iter().flat_map(|context| self.leaks_of(context)).collect()
    }

    fn leaks_of(&self, context: Handle) -> Vec<String> {
        let owned = self
            .owners
            .iter()
            .filter(|(_, owner)| owner.context == context && !owner.is_free_queued && owner.module.is_none());
        let mut leaks: Vec<String> =
            owned.map(|(address, owner)| format!("allocation of {} bytes at {address:#x}", owner.bytes)).collect();
        leaks.extend(self.host.of_context(context).map(|(pointer, range)| {
            let kind = if range.is_allocated() { "pinned" } else { "registered" };
            format!("{kind} host memory of {} bytes at {pointer:#x}", range.bytes)
        }));
        let counts = [
            ("module", self.modules.iter().filter(|(_, object)| object.context == context).count()),
            (
                "stream",
                self.streams.iter().filter(|(_, object)| object.context == context && object.is_created).count(),
            ),
            ("event", self.events.iter().filter(|(_, object)| object.context == context).count()),
            ("graph", self.graphs.iter().filter(|(_, object)| object.context == context).count()),
            ("executable graph", self.execs.iter().filter(|(_, object)| object.context == context).count()),
        ];
        leaks.extend(counts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| {
            let plural = if *count == 1 { "" } else { "s" };
            format!("{count} {name}{plural}")
        }));
        leaks
    }

    /// Removes all that a context has, and the context.
    pub(super) fn remove_objects(&mut self, context: Handle) {
        let addresses: Vec<u64> =
            self.owners.iter().filter(|(_, owner)| owner.context == context).map(|(&address, _)| address).collect();
        for address in addresses {
            if let Some(owner) = self.owners.get(&address).cloned() {
                self.release(address, &owner);
            }
        }
        self.functions.retain(|object| object.image.context != context);
        self.modules.retain(|object| object.context != context);
        self.streams.retain(|object| object.context != context);
        self.events.retain(|object| object.context != context);
        self.graphs.retain(|object| object.context != context);
        self.execs.retain(|object| object.context != context);
        self.captures.retain(|object| object.context != context);
        self.host.remove_context(context);
        self.queue.abandon(context);
        let _ = self.contexts.remove(context);
    }
}
