//! A profile as a trace, in the Trace Event Format that Chrome (`chrome://tracing`) and Perfetto (`ui.perfetto.dev`)
//! show.
use super::{Event, Profile};
use crate::json::Json;
use crate::sort::sort;
use std::time::Duration;

impl Profile {
    /// The individually recorded calls ([`super::Profiler::with_events`]) as complete events, in microseconds, after
    /// metadata events that name the process and its threads.
    pub fn trace(&self) -> String {
        let mut threads: Vec<u32> = self.events.iter().map(|event| event.thread).collect();
        sort(&mut threads);
        threads.dedup();
        let names = std::iter::once(metadata("process_name", 0, "hammock")).chain(threads.into_iter().map(thread_name));
        let events = self.events.iter().map(|event| self.trace_event(event));
        let events: Vec<String> = names.chain(events).map(|event| event.to_string()).collect();
        let head = format!("{{\"displayTimeUnit\":\"ns\",\"lostEvents\":{}", self.lost);
        format!("{head},\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
    }

    fn trace_event(&self, event: &Event) -> Json {
        let node = &self.nodes[event.node];
        let source = node.source.as_ref().map_or(Json::Null, |at| Json::from(at.file_line().as_str()));
        let line = node.source.as_ref().map_or(Json::Null, |at| Json::from(at.text.trim()));
        Json::object([
            ("name", node.name.as_str().into()),
            ("cat", node.kind.to_string().as_str().into()),
            ("ph", "X".into()),
            ("pid", Json::Int(1)),
            ("tid", Json::Int(event.thread.into())),
            ("ts", microseconds(event.start)),
            ("dur", microseconds(event.time)),
            ("args", Json::object([("source", source), ("line", line)])),
        ])
    }
}

/// Metadata that gives a thread its name.
fn thread_name(thread: u32) -> Json {
    let name = if thread == 0 { "caller".to_owned() } else { format!("caller {}", thread + 1) };
    metadata("thread_name", thread, &name)
}

/// A metadata event.
fn metadata(what: &str, thread: u32, name: &str) -> Json {
    Json::object([
        ("name", what.into()),
        ("ph", "M".into()),
        ("pid", Json::Int(1)),
        ("tid", Json::Int(thread.into())),
        ("args", Json::object([("name", name.into())])),
    ])
}

fn microseconds(time: Duration) -> Json {
    Json::float(time.as_nanos() as f64 / 1e3)
}
