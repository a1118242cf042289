use super::*;
use crate::ffi::Location;
use crate::image::SourceMap;
use std::thread;

static NOTHING: Any = Any::NONE;

/// Simulates a program: `main` calls the function `helper` twice, which calls `add`, and `add` itself once.
fn play(profiler: &Profiler, wait: Duration) {
    let (sources, tensor) = (SourceMap::default(), Any::from(Tensor::from_slice(&[4], &[0f32; 4]).unwrap()));
    let args = [tensor.clone(), tensor];
    let call = |instruction, callee, kind| Call {
        function: "",
        callee,
        kind,
        value: &NOTHING,
        instruction,
        args: if kind == CalleeKind::Kernel { &args } else { &[] },
        sources: &sources,
        device_time: None,
    };
    let add = |instruction| {
        let add = call(instruction, "add", CalleeKind::Kernel);
        assert!(matches!(profiler.before(&add), Ok(Action::Run)));
        thread::sleep(wait);
        profiler.after(&add, Ok(&Any::NONE)).unwrap();
    };
    profiler.enter("main");
    for instruction in [0, 1] {
        let helper = call(instruction, "helper", CalleeKind::Function);
        profiler.before(&helper).unwrap();
        profiler.enter("helper");
        add(7);
        profiler.leave("helper");
        profiler.after(&helper, Ok(&Any::NONE)).unwrap();
    }
    add(2);
    profiler.leave("main");
}

const WAIT: Duration = Duration::from_millis(if cfg!(miri) { 200 } else { 2 });

#[test]
fn times_add_up() {
    let profiler = Profiler::new();
    play(&profiler, WAIT);
    let profile = profiler.profile();
    let rows = profile.rows();
    let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
    assert_eq!(rows[0].name, "add");
    assert_eq!((row("add").count, row("helper").count, row("main").count), (3, 2, 1));
    assert_eq!((row("add").bytes, row("helper").bytes), (3 * 32, 0));
    assert!(row("add").total >= 3 * WAIT && row("add").min >= WAIT && row("add").max >= row("add").min);
    assert_eq!(row("add").own, row("add").total);
    assert_eq!(profile.total(), row("main").total);
    let own: Duration = rows.iter().map(|row| row.own).sum();
    assert_eq!(own, profile.total());
    assert!(row("helper").own < row("helper").total);
    profiler.reset();
    assert!(profiler.profile().rows().is_empty());
}

#[test]
fn calls_are_recorded_by_thread_up_to_a_limit() {
    let profiler = Profiler::with_events(12);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| play(&profiler, Duration::ZERO));
        }
    });
    let profile = profiler.profile();
    assert_eq!((profile.events.len(), profile.lost), (12, 3 * 6 - 12));
    assert_eq!(profile.rows().iter().find(|row| row.name == "main").unwrap().count, 3);
    for event in &profile.events {
        let node = &profile.nodes[event.node];
        let outer =
            profile.events.iter().filter(|outer| outer.thread == event.thread && Some(outer.node) == node.parent);
        let mut outer = outer.filter(|outer| outer.start <= event.start).map(|outer| outer.start + outer.time);
        assert!(
            node.parent.is_none() || outer.clone().next().is_none() || outer.any(|end| event.start + event.time <= end)
        );
    }
}

#[test]
fn calls_in_the_tail_and_deep_recursion_stay_small() {
    let profiler = Profiler::new();
    let sources = SourceMap::default();
    let again = Call {
        function: "loop",
        callee: "loop",
        kind: CalleeKind::Function,
        value: &NOTHING,
        instruction: 3,
        args: &[],
        sources: &sources,
        device_time: None,
    };
    profiler.enter("loop");
    let rounds = if cfg!(miri) { 100 } else { 10_000 };
    for _ in 0..rounds {
        profiler.before(&again).unwrap();
        profiler.leave("loop");
        profiler.enter("loop");
    }
    profiler.leave("loop");
    assert!(profiler.profile().nodes.len() <= 2);
    for _ in 0..1000 {
        profiler.before(&again).unwrap();
        profiler.enter("loop");
    }
    (0..1000).for_each(|_| profiler.leave("loop"));
    let profile = profiler.profile();
    assert!(profile.nodes.len() < 200, "{}", profile.nodes.len());
    assert_eq!(profile.rows()[0].count, rounds + 1001);
}

/// A profile with round numbers.
fn sample() -> Profile {
    let node = |parent, name: &str, kind, count, total, below| Node {
        parent,
        name: name.to_owned(),
        kind,
        source: parent.map(|_| Location {
            file: "models/model.py".to_owned(),
            line: 3,
            column: 9,
            text: "        y = R.add(x, x)".to_owned(),
        }),
        count,
        total: Duration::from_micros(total),
        below: Duration::from_micros(below),
        min: Duration::from_micros(total / count),
        max: Duration::from_micros(total / count),
        bytes: if kind == CalleeKind::Kernel { 2000 } else { 0 },
        device: Duration::ZERO,
    };
    let nodes = vec![
        node(None, "main", CalleeKind::Function, 1, 100, 90),
        node(Some(0), "vm.builtin.<\"&\">", CalleeKind::Builtin, 1, 10, 0),
        node(Some(0), "add", CalleeKind::Kernel, 2, 50, 0),
        node(Some(0), "add", CalleeKind::Kernel, 1, 30, 0),
    ];
    let event = |node, start, time| Event {
        node,
        thread: 0,
        start: Duration::from_micros(start),
        time: Duration::from_micros(time),
    };
    Profile { nodes, events: vec![event(1, 1, 10), event(0, 0, 100)], lost: 1 }
}

#[test]
fn the_table_is_aligned() {
    let table = sample().table();
    assert_eq!(table.lines().count(), 5, "{table}");
    assert_eq!(table.lines().next().unwrap().split_whitespace().count(), 9);
    let add = "add kernel 3 80.00 us 80.0% 80.00 us 0.05 model.py:3 y = R.add(x, x)";
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(table.lines().nth(1).unwrap()), words(add));
    let at = |line: usize, word: &str| table.lines().nth(line).unwrap().find(word);
    assert_eq!(at(0, "called at"), at(1, "model.py"));
    assert!(table.ends_with("100.00 us in calls from outside\n"), "{table}");
}

#[test]
fn times_on_devices_are_shown_if_there_are_any() {
    let mut profile = sample();
    profile.nodes[2].device = Duration::from_micros(8);
    profile.nodes[3].device = Duration::from_micros(2);
    let table = profile.table();
    assert_eq!(table.lines().next().unwrap().split_whitespace().nth(6), Some("device"));
    let add = "add kernel 3 80.00 us 80.0% 80.00 us 10.00 us 0.40 model.py:3 y = R.add(x, x)";
    assert_eq!(table.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" "), add);
    let at = |line: usize, word: &str| table.lines().nth(line).unwrap().find(word);
    assert_eq!(at(0, "called at"), at(1, "model.py"));
    assert!(profile.json().contains("\"device_ns\":10000,\"bytes\":4000"), "{}", profile.json());
    let title = "<title>add (kernel): 3 calls, 80.0 us, 10.0 us on the device, 80.0%</title>";
    assert!(profile.flame_graph().contains(title), "{}", profile.flame_graph());
}

#[test]
fn lines_of_the_table_fit_a_terminal() {
    let mut profile = sample();
    profile.nodes[2].name = format!("fused_{}_relu", "conv2d_add_".repeat(30));
    let at = profile.nodes[2].source.as_mut().unwrap();
    at.text = format!("{} = Conv(x, w)  # node /conv2/{}", "y".repeat(70), "v".repeat(200));
    let table = profile.table();
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
    let line = table.lines().find(|line| line.starts_with("fused_conv2d_add_co…")).unwrap();
    assert!(line.contains("model.py:3 /conv2/v") && line.ends_with('…'), "{table}");
}

#[test]
fn files_for_other_programs_are_well_formed() {
    let profile = sample();
    let json = profile.json();
    assert!(
        json.starts_with("{\"total_ns\":100000,\"rows\":[{\"name\":\"add\",\"kind\":\"kernel\",\"count\":3,"),
        "{json}"
    );
    assert!(json.contains(r#""name":"vm.builtin.<\"&\">""#) && json.contains("\"sources\":[]"));
    let trace = profile.trace();
    assert!(trace.contains(r#"{"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"caller"}}"#), "{trace}");
    assert!(trace.contains(r#""source":"models/model.py:3","line":"y = R.add(x, x)""#), "{trace}");
    assert!(trace.contains("\"lostEvents\":1") && trace.contains("\"ts\":1.0,\"dur\":10.0"), "{trace}");
    let flame = profile.flame_graph();
    assert!(flame.contains("<title>add (kernel): 3 calls, 80.0 us, 80.0%</title>"), "{flame}");
    assert!(flame.contains("vm.builtin.&lt;\"&amp;\"&gt;") && flame.ends_with("</svg>\n"));
    assert_eq!(flame.matches("<rect x=").count(), 3);
    assert_eq!(Profile::default().flame_graph().matches("<rect x=").count(), 0);
}
