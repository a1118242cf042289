//! A profile as a trace, in the Trace Event Format that Chrome (`chrome://tracing`) and Perfetto (`ui.perfetto.dev`) show.
use super::{Event, Profile};
use crate::json::Json;
use std::time::Duration;

impl Profile {
    /// The calls that were kept one by one ([`super::Profiler::with_events`]), as complete events, in microseconds.
    pub fn trace(&self) -> String {
        let events: Vec<String> = self.events.iter().map(|event| self.trace_event(event).to_string()).collect();
        let head = format!("{{\"displayTimeUnit\":\"ns\",\"lostEvents\":{}", self.lost);
        format!("{head},\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
    }

    fn trace_event(&self, event: &Event) -> Json {
        let node = &self.nodes[event.node];
        let source = node.source.as_deref().map_or(Json::Null, Json::from);
        Json::object([
            ("name", node.name.as_str().into()),
            ("cat", node.kind.to_string().as_str().into()),
            ("ph", "X".into()),
            ("pid", Json::Int(1)),
            ("tid", Json::Int(event.thread.into())),
            ("ts", microseconds(event.start)),
            ("dur", microseconds(event.time)),
            ("args", Json::object([("source", source)])),
        ])
    }
}

fn microseconds(time: Duration) -> Json {
    Json::float(time.as_nanos() as f64 / 1e3)
}
