//! Memory, copies, events and launches outside of programs.
use super::emulated;
use super::kernels::{floats, guarded, ints, read};
use hammock_runtime::memory::{Allocator, AllocatorKind};
use hammock_runtime::{Device, Tensor, device, show};
use std::thread;

const CUDA: Device = Device::cuda(0);

#[test]
fn tensors_move_between_devices() {
    emulated("device::tensors_move_between_devices", &[], || {
        let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let there = floats(&values, CUDA);
        assert_eq!((there.device(), there.data_ptr().addr() % 256), (CUDA, 0));
        assert!(there.as_bytes().unwrap_err().to_string().contains("cuda:0, where the host cannot read it"));
        let other = there.to_device(Device::cuda(1)).unwrap();
        let allocator = Allocator::new(Device::cuda(1), AllocatorKind::Pooled, 1 << 20).unwrap();
        let copy = other.copy_into(&allocator).unwrap();
        assert_eq!((read(&there), read(&other), read(&copy)), (values.clone(), values.clone(), values));
        assert_eq!(allocator.stats().used, 4032);
        // A strided view is copied through the host.
        let table = floats(&[0., 1., 2., 3., 4., 5.], CUDA).reshape(&[2, 3]).unwrap();
        let transposed = table.strided(&[3, 2], &[1, 3], 0).unwrap();
        assert_eq!(read(&transposed), [0., 3., 1., 4., 2., 5.]);
        assert_eq!(show::plain(&floats(&[1.5, -2.0], CUDA).into()), "[ 1.5 -2.0]");
        assert_eq!(floats(&[], CUDA).shape(), [0]);
    });
}

#[test]
fn memory_is_pooled_and_limited() {
    emulated("device::memory_is_pooled_and_limited", &[], || {
        let allocator = Allocator::new(CUDA, AllocatorKind::Pooled, 1 << 20).unwrap();
        let first = allocator.alloc(1 << 19).unwrap();
        let address = first.as_ptr();
        drop(first);
        assert_eq!(allocator.alloc(1 << 19).unwrap().as_ptr(), address);
        let error = allocator.alloc(2 << 20).err().unwrap();
        assert!(
            error.to_string().starts_with("MemoryError: 2097152 bytes on cuda:0 would exceed the limit"),
            "{error}"
        );
    });
}

#[test]
fn events_have_times() {
    emulated("device::events_have_times", &[], || {
        let api = device::find(CUDA).unwrap();
        let stream = api.create_stream().unwrap();
        let (mut begin, mut end) = (api.create_event().unwrap(), api.create_event().unwrap());
        assert!(begin.synchronize().unwrap_err().message().contains("not recorded"));
        stream.record(&mut *begin).unwrap();
        drop(floats(&[1.0; 100], CUDA));
        stream.record(&mut *end).unwrap();
        assert!(end.elapsed_since(&*begin).is_ok());
        let other = device::find(Device::cuda(1)).unwrap();
        other.create_stream().unwrap().wait(&*end).unwrap();
        let host = device::find(Device::CPU).unwrap();
        host.create_stream().unwrap().wait(&*end).unwrap();
        let foreign = other.create_stream().unwrap().record(&mut *end).unwrap_err();
        assert!(foreign.message().contains("another device"));
    });
}

#[test]
fn kernels_run_on_the_device_of_their_tensors() {
    emulated("device::kernels_run_on_the_device_of_their_tensors", &[], || {
        let double = guarded("double");
        let values: Vec<f32> = (0..300).map(|i| i as f32).collect();
        let doubled: Vec<f32> = values.iter().map(|value| 2.0 * value).collect();
        for device in [CUDA, Device::cuda(1)] {
            let (x, y) = (floats(&values, device), floats(&vec![0.0; 300], device));
            double.call(&[x.into(), y.clone().into()]).unwrap();
            assert_eq!(read(&y), doubled);
        }
        let call = |x: Tensor, y: Tensor| double.call(&[x.into(), y.into()]).unwrap_err().message().to_owned();
        let (here, there) = (floats(&[1.0], Device::CPU), floats(&[1.0], CUDA));
        let other = floats(&[1.0], Device::cuda(1));
        let wrong = "kernel `double` expects a Tensor on cuda:0 for parameter `x`, got cpu:0";
        assert_eq!(call(here.clone(), there.clone()), wrong);
        let wrong = "kernel `double` expects a Tensor on cuda:1 for parameter `y`, got cpu:0";
        assert_eq!(call(other.clone(), here), wrong);
        let wrong =
            "kernel `double` expects a Tensor on cuda:0, as the Tensors before it for parameter `y`, got cuda:1";
        assert_eq!(call(there, other), wrong);
    });
}

#[test]
fn failed_checks_are_errors_of_their_thread() {
    emulated("device::failed_checks_are_errors_of_their_thread", &[], || {
        let gather = |indices: &[i64]| {
            let y = floats(&[0.0; 4], CUDA);
            let args = [floats(&[1., 2., 3., 4.], CUDA), ints(indices, CUDA), y.clone()].map(Into::into);
            guarded("gather").call(&args).map(|_| read(&y)).map_err(|error| error.to_string())
        };
        let wrong = "IndexError: kernel `gather`, buffer `x`: index 9 is out of bounds for size 4";
        assert_eq!(gather(&[3, 2, 1, 0]).unwrap(), [4., 3., 2., 1.]);
        assert_eq!(gather(&[3, 2, 9, 0]).unwrap_err(), wrong);
        assert_eq!(gather(&[0, 0, 1, 1]).unwrap(), [1., 1., 2., 2.]);
        thread::scope(|scope| {
            for fails in [true, false, true, false] {
                scope.spawn(move || {
                    for _ in 0..20 {
                        let result = gather(if fails { &[0, 9, 0, 0] } else { &[0, 1, 0, 0] });
                        assert_eq!(result.is_err(), fails);
                    }
                });
            }
        });
    });
}
