//! A profile as a trace, in the Trace Event Format that Chrome (`chrome://tracing`) and Perfetto (`ui.perfetto.dev`) show.
use super::json::Quoted;
use super::{Event, Profile};
use std::time::Duration;

impl Profile {
    /// The calls that were kept one by one ([`super::Profiler::with_events`]), as complete events, in microseconds.
    pub fn trace(&self) -> String {
        let events: Vec<String> = self.events.iter().map(|event| self.trace_event(event)).collect();
        format!(
            "{{\"displayTimeUnit\":\"ns\",\"lostEvents\":{},\"traceEvents\":[\n{}\n]}}\n",
            self.lost,
            events.join(",\n")
        )
    }

    fn trace_event(&self, event: &Event) -> String {
        let node = &self.nodes[event.node];
        let source = node.source.as_deref().map(|source| format!("\"source\":{}", Quoted(source))).unwrap_or_default();
        format!(
            "{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3},\"dur\":{:.3},\"args\":{{{source}}}}}",
            Quoted(&node.name),
            node.kind,
            event.thread,
            microseconds(event.start),
            microseconds(event.time),
        )
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}
