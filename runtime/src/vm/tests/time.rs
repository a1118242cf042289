//! Timeouts and interruption.
use super::*;

/// A call that ends after its timeout without having polled fails.
#[test]
fn the_shortest_times_count() {
    let mut a = Assembler::default();
    let body = [a.call(1, "add", &[reg(0), int(1)]), ret(1)];
    a.define("main", 1, 2, &body);
    let vm = a.vm();
    let within = |nanos| {
        let limits = CallLimits { interrupt: None, timeout: Some(Duration::from_nanos(nanos)) };
        vm.call_with(&limits, "main", &ints(&[1]))
    };
    assert_eq!(within(1).unwrap_err().kind(), kind::TIMEOUT);
    assert_eq!(within(3_600_000_000_000).unwrap().get::<i64>(), Some(2));
}

#[test]
#[cfg_attr(miri, ignore = "leaves the thread that watches the time behind, which miri takes for a leak")]
fn calls_can_be_stopped() {
    // forever() = while 1 {}
    let mut a = Assembler::default();
    let body = [a.call(0, "vm.builtin.copy", &[int(1)]), branch(0, 2), goto(-1), ret(0)];
    a.define("forever", 0, 1, &body);
    let vm = a.vm();
    let limits = CallLimits { timeout: Some(Duration::from_millis(20)), ..CallLimits::default() };
    let error = vm.call_with(&limits, "forever", &[]).unwrap_err();
    assert_eq!((error.kind(), error.trace().len()), (kind::TIMEOUT, 1));

    for timeout in [None, Some(Duration::from_secs(600))] {
        let interrupt = Interrupt::new();
        let limits = CallLimits { interrupt: Some(interrupt.clone()), timeout };
        let error = std::thread::scope(|scope| {
            let call = scope.spawn(|| vm.call_with(&limits, "forever", &[]).unwrap_err());
            std::thread::sleep(Duration::from_millis(5));
            interrupt.cancel();
            call.join().unwrap()
        });
        assert_eq!(error.to_string(), "CancelledError: the call was cancelled");
        assert_eq!(vm.call_with(&limits, "forever", &[]).unwrap_err().kind(), kind::CANCELLED);
    }
}

/// A call makes the host's check on request, goes on, and ends with the check's error.
#[test]
fn hosts_check_calls() {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    static CHECKS: AtomicU32 = AtomicU32::new(0);
    static CHECK: HostCheck = HostCheck::new(|| match CHECKS.fetch_add(1, SeqCst) {
        0..2 => Ok(()),
        _ => Err(Error::new("KeyboardInterrupt", "").with_payload(Arc::new(7))),
    });
    // forever() = while 1 {}
    let mut a = Assembler::default();
    let body = [a.call(0, "vm.builtin.copy", &[int(1)]), branch(0, 2), goto(-1), ret(0)];
    a.define("forever", 0, 1, &body);
    let vm = a.vm();
    for timeout in [None, Some(Duration::from_secs(600))] {
        CHECKS.store(0, SeqCst);
        let limits = CallLimits { timeout, ..CallLimits::default() };
        let error = std::thread::scope(|scope| {
            let call = scope.spawn(|| CHECK.within(|| vm.call_with(&limits, "forever", &[]).unwrap_err()));
            while !call.is_finished() {
                CHECK.request();
                std::thread::yield_now();
            }
            call.join().unwrap()
        });
        assert_eq!((error.kind(), CHECKS.load(SeqCst)), ("KeyboardInterrupt", 3));
        let attached = error.payload().and_then(|payload| payload.downcast_ref::<i32>());
        assert_eq!(attached, Some(&7));
        let object = crate::value::ErrorObject::new(&error);
        assert!(object.to_error().payload().is_some());
    }
}

/// A request that comes between two calls is for the next one, even if that polls only once.
#[test]
fn requests_between_calls_are_kept() {
    static CHECK: HostCheck = HostCheck::new(|| Err(Error::new("KeyboardInterrupt", "")));
    let mut a = Assembler::default();
    let body = [a.call(1, "add", &[reg(0), int(1)]), ret(1)];
    a.define("main", 1, 2, &body);
    let vm = a.vm();
    CHECK.request();
    assert!(vm.call("main", &ints(&[1])).is_ok(), "the call is not within the check");
    CHECK.within(|| {
        assert_eq!(vm.call("main", &ints(&[1])).unwrap_err().kind(), "KeyboardInterrupt");
        assert_eq!(vm.call("main", &ints(&[1])).unwrap().get::<i64>(), Some(2));
    });
}
