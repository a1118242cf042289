use super::*;
use crate::executable::{Executable, build::ret};
use crate::image::Image;
use crate::value::Tensor;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn constant(value: i64) -> Function {
    Function::new(move |_| Ok(value.into()))
}

fn called(function: Option<Function>) -> Option<i64> {
    function?.call(&[]).unwrap().get()
}

/// A program whose `main` returns the result of the kernel `seven`.
fn image() -> Arc<Image> {
    let mut executable = Executable::default();
    let body = [executable.call(0, "test.module.seven", &[]), ret(0)];
    executable.define("main", 0, 1, &body);
    Arc::new(Image { executable, ..Image::default() })
}

#[test]
fn functions_are_found_through_imports_and_remembered() {
    struct Counting(AtomicUsize);
    impl Node for Arc<Counting> {
        fn kind(&self) -> &str {
            "test.counting"
        }
        fn properties(&self) -> u32 {
            RUNNABLE
        }
        fn names(&self) -> Vec<String> {
            Vec::new()
        }
        fn function(&self, _: &Module, name: &str) -> Result<Option<Function>, Error> {
            self.0.fetch_add(1, Relaxed);
            Ok((name == "deep").then(|| constant(3)))
        }
    }
    let asked = Arc::new(Counting(AtomicUsize::new(0)));
    let deep = Module::new(asked.clone(), vec![Module::host([("late", constant(4))])]);
    let root = Module::new(super::nodes::tests::empty(), vec![Module::host([("f", constant(1))]), deep]);
    assert_eq!(called(root.find("f").unwrap()), Some(1));
    assert_eq!(called(root.function("f").unwrap()), None);
    assert_eq!(called(root.find("deep").unwrap()), Some(3));
    assert_eq!((called(root.find("deep").unwrap()), called(root.find("late").unwrap())), (Some(3), Some(4)));
    assert_eq!(asked.0.load(Relaxed), 2);
    assert!(root.find("none").unwrap().is_none());
    assert_eq!(Any::from(root).to_string(), "Module");
}

#[test]
fn executables_become_machines() {
    let module = Module::from_image(image(), vec![Module::host([("test.module.seven", constant(7))])]);
    let text = |name: &str| module.find(name).unwrap().unwrap().call(&[]).unwrap().as_str().unwrap().to_owned();
    assert!(
        text("as_text").contains("test.module.seven")
            && text("stats").contains("main")
            && text("as_python").contains("main")
    );
    let has = module.find("has_function").unwrap().unwrap();
    assert_eq!(has.call(&["main".into()]).unwrap().get::<bool>(), Some(true));
    let load = module.find("vm_load_executable").unwrap().unwrap();
    for devices in [vec![], vec![Any::from(1i64), 1i64.into(), 1i64.into()]] {
        let machine: Module = load.call(&devices).unwrap().get().unwrap();
        assert_eq!((machine.kind(), machine.names()), ("relax.VirtualMachine", vec!["main".to_owned()]));
        assert_eq!(called(machine.find("main").unwrap()), Some(7));
    }
    assert!(load.call(&[Any::from(1i64)]).is_err());
    assert!(load.call(&[99i64, 0, 2].map(Any::from)).unwrap_err().to_string().contains("no device"));
    let alone = Module::from_image(image(), Vec::new()).find("vm_load_executable").unwrap().unwrap().call(&[]).unwrap();
    let main = alone.get::<Module>().unwrap().find("main").unwrap().unwrap();
    assert!(main.call(&[]).unwrap_err().to_string().contains("test.module.seven"));
}

#[test]
fn trees_are_saved_and_loaded() {
    let shared = Module::from_image(image(), Vec::new());
    let one = Module::from_image(image(), vec![shared.clone()]);
    let root = Module::from_image(image(), vec![shared, one]);
    let bytes = root.save().unwrap();
    let back = load(&bytes).unwrap();
    assert_eq!((back.kind(), back.imports().len()), ("relax.VMExecutable", 2));
    assert!(back.imports()[0].ptr_eq(&back.imports()[1].imports()[0]));
    assert_eq!(back.save().unwrap(), bytes);
    for end in (0..bytes.len()).step_by(if cfg!(miri) { 307 } else { 7 }) {
        assert!(load(&bytes[..end]).is_err());
    }
    let host = Module::host([("f", constant(1))]);
    let error = Module::from_image(image(), vec![host]).save().unwrap_err();
    assert_eq!(error.to_string(), "TypeError: modules of kind `host` cannot be saved");
}

#[test]
fn kinds_of_others_have_their_loaders() {
    struct Weights(Vec<u8>);
    impl Node for Weights {
        fn kind(&self) -> &str {
            "test.weights"
        }
        fn properties(&self) -> u32 {
            SERIALIZABLE
        }
        fn names(&self) -> Vec<String> {
            vec!["get".to_owned()]
        }
        fn function(&self, _: &Module, name: &str) -> Result<Option<Function>, Error> {
            let tensor = Any::from(Tensor::from_slice(&[self.0.len() as i64], &self.0)?);
            Ok((name == "get").then(|| Function::new(move |_| Ok(tensor.clone()))))
        }
        fn save(&self) -> Result<Vec<u8>, Error> {
            Ok(self.0.clone())
        }
    }
    let bytes = Module::new(Weights(vec![1, 2, 3]), Vec::new()).save().unwrap();
    assert!(load(&bytes).unwrap_err().to_string().contains("`test.weights` cannot be loaded"));
    assert!(register_loader("test.weights", |contents, imports| Ok(Module::new(Weights(contents), imports))).is_none());
    let back = load(&bytes).unwrap();
    let tensor: Tensor = back.find("get").unwrap().unwrap().call(&[]).unwrap().get().unwrap();
    assert_eq!(tensor.as_slice::<u8>().unwrap(), [1, 2, 3]);
}

#[test]
fn long_chains_of_imports_end_well() {
    let chain = (0..if cfg!(miri) { 300 } else { 50_000 })
        .fold(Module::host([("f", constant(1))]), |module, _| Module::new(super::nodes::tests::empty(), vec![module]));
    assert_eq!(called(chain.find("f").unwrap()), Some(1));
    drop(chain);
}
