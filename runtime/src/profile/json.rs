//! A profile as JSON, for programs.
use super::{Profile, Row};
use crate::json::Json;
use std::time::Duration;

impl Profile {
    /// One object: `total_ns`, and `rows` with `name`, `kind`, `count`, `own_ns`, `share`, `total_ns`, `mean_ns`,
    /// `min_ns`, `max_ns`, `device_ns` (time on a device other than the host), `bytes`, `sources` (a list of `file:line`) and `lines` (their texts).
    pub fn json(&self) -> String {
        let rows = self.rows().iter().map(object).collect();
        format!("{}\n", Json::object([("total_ns", nanoseconds(self.total())), ("rows", rows)]))
    }
}

fn nanoseconds(time: Duration) -> Json {
    Json::Int(time.as_nanos() as i64)
}

fn object(row: &Row) -> Json {
    Json::object([
        ("name", row.name.as_str().into()),
        ("kind", row.kind.to_string().as_str().into()),
        ("count", Json::Int(row.count as i64)),
        ("own_ns", nanoseconds(row.own)),
        ("share", Json::float(row.share)),
        ("total_ns", nanoseconds(row.total)),
        ("mean_ns", nanoseconds(row.mean())),
        ("min_ns", nanoseconds(row.min)),
        ("max_ns", nanoseconds(row.max)),
        ("device_ns", nanoseconds(row.device)),
        ("bytes", Json::Int(row.bytes as i64)),
        ("sources", row.sources.iter().map(|at| Json::from(at.file_line().as_str())).collect()),
        ("lines", row.sources.iter().map(|at| Json::from(at.text.trim())).collect()),
    ])
}
