//! Instruments see every call.
use super::*;

/// Records events; skips `sub`.
#[derive(Default)]
struct Notes(std::sync::Mutex<Vec<String>>);

impl Instrument for Notes {
    fn before(&self, call: &instrument::Call<'_>) -> Result<instrument::Action, Error> {
        let args: Vec<_> = call.args.iter().map(Any::to_string).collect();
        self.0.lock().unwrap().push(format!("{} {} {}({})", call.function, call.kind, call.callee, args.join(", ")));
        Ok(match call.callee {
            "sub" => instrument::Action::Skip(0i64.into()),
            _ => instrument::Action::Run,
        })
    }

    fn after(&self, call: &instrument::Call<'_>, result: Result<&Any, &Error>) -> Result<(), Error> {
        self.0.lock().unwrap().push(format!(
            "{} = {}",
            call.callee,
            result.map_or_else(Error::to_string, Any::to_string)
        ));
        Ok(())
    }

    fn enter(&self, function: &str) {
        self.0.lock().unwrap().push(format!("> {function}"));
    }

    fn leave(&self, function: &str) {
        self.0.lock().unwrap().push(format!("< {function}"));
    }
}

#[test]
fn instruments_see_every_call() {
    let vm = factorial().vm();
    let notes = Arc::new(Notes::default());
    vm.set_instrument(Some(notes.clone()));
    // The skipped subtraction would give 2.
    assert_eq!(call(&vm, "factorial", &[3]), Ok(3));
    let seen = std::mem::take(&mut *notes.0.lock().unwrap());
    let expected = [
        "> factorial",
        "factorial registered sub(3, 1)",
        "factorial function factorial(0)",
        "> factorial",
        "factorial builtin vm.builtin.copy(1)",
        "vm.builtin.copy = 1",
        "< factorial",
        "factorial = 1",
        "factorial registered mul(3, 1)",
        "mul = 3",
        "< factorial",
    ];
    assert_eq!(seen.iter().map(|line| line.replace("kernel", "registered")).collect::<Vec<_>>(), expected);
    vm.set_instrument(None);
    assert_eq!(call(&vm, "factorial", &[3]), Ok(6));
    assert!(notes.0.lock().unwrap().is_empty());
}

#[test]
fn tvm_instruments_receive_the_callee() {
    let vm = factorial().vm();
    let kinds = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = kinds.clone();
    vm.set_instrument(Some(Arc::new(Function::new(move |args| {
        let before = args[2].get() == Some(true);
        seen.lock().unwrap().push(format!("{} {} {before}", args[1].as_str().unwrap(), args[0].type_name()));
        // The function that it receives can be called: the result of a kernel is passed to the instrument afterwards.
        if let (Some(function), false) = (args[0].get::<&Function>(), before) {
            assert_eq!(function.call(&args[4..])?.get::<i64>(), args[3].get());
        }
        Ok(Any::NONE)
    }))));
    assert_eq!(call(&vm, "factorial", &[1]), Ok(1));
    let calls = ["sub Function", "factorial Closure", "vm.builtin.copy Function"];
    for said in calls.iter().flat_map(|said| [format!("{said} true"), format!("{said} false")]) {
        assert!(kinds.lock().unwrap().contains(&said), "{said} is not in {kinds:?}");
    }
}
