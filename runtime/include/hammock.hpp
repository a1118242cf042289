// The runtime of compiled models, for C++17: hammock.h with RAII values and errors as exceptions.
//
//     hammock::Vm vm(hammock::Library::open("model.so"));
//     hammock::Value output = vm.call("main", hammock::Value::tensor<float>({1, 64}, pixels));
//     float first = output.data<float>()[0];
//
// The rules of hammock.h for lifetimes and threads apply here, too. hammock/error.hpp has errors, hammock/value.hpp
// values, hammock/module.hpp modules, hammock/watch.hpp interrupts, instruments and the profiler; this header includes
// them.
#ifndef HAMMOCK_HPP
#define HAMMOCK_HPP

#include "hammock/module.hpp"
#include "hammock/watch.hpp"

namespace hammock {

/// The version of the runtime.
inline std::string version() { return hammock_version(); }

/// Sets the number of threads for kernels in the whole process; 0 for the number of CPUs.
inline void set_threads(size_t count) { hammock_set_threads(count); }

/// Runs parallel loops through `runner`, with `pool` as its first argument, from now on; null restores the runtime's
/// own threads. See `hammock_runner` for its contract.
inline void set_pool(hammock_runner runner, void *pool) { hammock_set_pool(runner, pool); }

/// A compiled model.
class Library {
public:
    static Library open(Name path) {
        hammock_library *library;
        check(hammock_library_open(path.c(), &library));
        return Library(library);
    }

    /// Loads a compiled model from memory, which is copied.
    static Library load(const void *bytes, size_t size) {
        hammock_library *library;
        check(hammock_library_load(bytes, size, &library));
        return Library(library);
    }

    /// The model as a module: an executable that imports its kernels.
    Module module() const {
        return Module(Value::made([&](hammock_any *module) { return hammock_library_module(c(), module); }));
    }

    const hammock_library *c() const { return library_.get(); }

private:
    struct Free {
        void operator()(hammock_library *library) const { hammock_library_free(library); }
    };
    explicit Library(hammock_library *library) : library_(library) {}
    std::unique_ptr<hammock_library, Free> library_;
};

/// A parameter or result of a function: see `hammock_vm_signature`.
struct Parameter {
    std::string role; ///< "input", "weight", "bound", "output"
    std::string name;
    std::string type; ///< for people, such as "float32[n, 64]"
    std::optional<hammock_dtype> dtype;
    std::optional<std::vector<Value>> sizes; ///< integers and strings
};

/// Options of a virtual machine. Zero selects the default.
struct Options {
    std::vector<hammock_device> devices; ///< In order of preference; the host is appended.
    bool pooled = true;                  ///< True if released memory is cached for reuse.
    bool check_kernels = true;           ///< True if arguments of kernels are checked.
    uint64_t memory_limit = 0;           ///< Maximum memory on each device, in bytes.
    uint64_t max_depth = 0;              ///< Maximum depth of nested calls.
    uint64_t max_stack = 0;              ///< Maximum size of their frames, in bytes.
    Timeout timeout;                     ///< Maximum duration of a call.
    bool flush_denormals = false;        ///< True to flush denormals to zero on all threads of a call.

    /// The options for C, valid as long as this object.
    hammock_options c() const {
        hammock_options options = HAMMOCK_OPTIONS;
        options.devices = devices.data();
        options.device_count = devices.size();
        options.allocator = pooled ? HAMMOCK_ALLOCATOR_POOLED : HAMMOCK_ALLOCATOR_NAIVE;
        options.unchecked_kernels = !check_kernels;
        options.memory_limit = memory_limit;
        options.max_depth = max_depth;
        options.max_stack = max_stack;
        options.timeout_ms = detail::milliseconds(timeout);
        options.flush_denormals = flush_denormals;
        return options;
    }
};

/// Options for timing a function.
struct Evaluation {
    size_t number = 10; ///< Number of calls per repeat.
    size_t repeat = 1;
    std::chrono::milliseconds min_repeat{0}; ///< Shorter repeats get more calls.
    std::chrono::milliseconds cooldown{0};   ///< Pause between repeats.
};

/// Seconds per call, over the repeats, and in each.
struct Timings : hammock_timings {
    std::vector<double> seconds;
};

/// A virtual machine with a loaded model. Any number of threads may call it at once.
///
/// Arguments are passed one after another, or in a vector: `vm.call("main", x, y)`, `vm.call("main", {x, y})`.
class Vm {
public:
    explicit Vm(const Library &library, const Options &how = {}) {
        hammock_options options = how.c();
        hammock_vm *vm;
        check(hammock_vm_new(library.c(), &options, &vm));
        vm_.reset(vm);
    }

    /// The names of the callable functions.
    std::vector<std::string> functions() const {
        return Value::made([&](hammock_any *names) { return hammock_vm_functions(c(), names); }).strings();
    }

    /// The functions as a module, which keeps its own reference to the virtual machine.
    Module module() const {
        return Module(Value::made([&](hammock_any *module) { return hammock_vm_module(c(), module); }));
    }

    /// The names of a function's parameters.
    std::vector<std::string> parameters(Name function) const {
        auto names = [&](hammock_any *names) { return hammock_vm_parameters(c(), function.c(), names); };
        return Value::made(names).strings();
    }

    /// The parameters of a function, including bound weights, followed by its results.
    std::vector<Parameter> signature(Name function) const {
        auto signature = [&](hammock_any *signature) { return hammock_vm_signature(c(), function.c(), signature); };
        std::vector<Parameter> found;
        for (const Value &entry : Value::made(signature).fields()) {
            std::optional<hammock_dtype> dtype;
            if (!entry[3].is_none()) dtype = entry[3].dtype();
            std::optional<std::vector<Value>> sizes;
            if (!entry[4].is_none()) sizes = entry[4].fields();
            found.push_back({entry[0].string(), entry[1].string(), entry[2].string(), dtype, sizes});
        }
        return found;
    }

    /// Calls a function by name.
    template <typename... Args, typename = std::enable_if_t<(std::is_constructible_v<Value, Args &&> && ...)>>
    Value call(Name function, Args &&...args) const {
        return call_with(CallLimits(), function, std::forward<Args>(args)...);
    }

    Value call(Name function, const std::vector<Value> &args) const { return call_with(CallLimits(), function, args); }

    /// Calls a function with limits: throws a CancelledError or a TimeoutError when one is reached.
    template <typename... Args, typename = std::enable_if_t<(std::is_constructible_v<Value, Args &&> && ...)>>
    Value call_with(const CallLimits &limits, Name function, Args &&...args) const {
        const Value values[] = {Value(std::forward<Args>(args))..., Value()};
        return run(limits, function, values, sizeof...(Args));
    }

    Value call_with(const CallLimits &limits, Name function, const std::vector<Value> &args) const {
        return run(limits, function, args.data(), args.size());
    }

    /// Calls a function and copies the tensors of its result into the given ones, in order.
    void call_into(Name function, const std::vector<Value> &args, const std::vector<Value> &outputs) const {
        check(hammock_vm_call_into(c(), function.c(), Value::c(args), args.size(), Value::c(outputs), outputs.size()));
    }

    /// A function of the model as a value, which keeps the model alive.
    Value function(Name name) const {
        return Value::made([&](hammock_any *function) { return hammock_vm_function(c(), name.c(), function); });
    }

    /// Calls a function or closure that the model returned.
    Value invoke(const Value &callee, const std::vector<Value> &args) const {
        return Value::made([&](hammock_any *result) {
            return hammock_vm_invoke(c(), &callee.c(), Value::c(args), args.size(), result);
        });
    }

    /// Sets all inputs of a function, for stateful calls.
    void set_inputs(Name function, const std::vector<Value> &args) const {
        check(hammock_vm_set_inputs(c(), function.c(), Value::c(args), args.size()));
    }

    /// Sets one input of a function.
    void set_input(Name function, Name parameter, const Value &input) const {
        check(hammock_vm_set_input(c(), function.c(), parameter.c(), &input.c()));
    }

    /// Calls a function with the inputs that were set, and stores its result.
    void invoke_stateful(Name function) const { check(hammock_vm_invoke_stateful(c(), function.c())); }

    /// The stored result, or the part of it that a path of tuple indices selects.
    Value output(Name function, const std::vector<size_t> &path = {}) const {
        return Value::made([&](hammock_any *output) {
            return hammock_vm_output(c(), function.c(), path.data(), path.size(), output);
        });
    }

    /// Number of fields of the stored result, or of a part of it; none if it is not a tuple.
    std::optional<size_t> output_arity(Name function, const std::vector<size_t> &path = {}) const {
        int64_t arity;
        check(hammock_vm_output_arity(c(), function.c(), path.data(), path.size(), &arity));
        return arity < 0 ? std::nullopt : std::optional(static_cast<size_t>(arity));
    }

    /// Defines `saved` as a function without parameters that calls `function` with `args`.
    void save_function(Name function, Name saved, const std::vector<Value> &args, bool include_return = true) const {
        check(hammock_vm_save_function(c(), function.c(), saved.c(), Value::c(args), args.size(), include_return));
    }

    /// Times a function, after one warm-up call.
    Timings time(Name function, const std::vector<Value> &args, const Evaluation &how = {}) const {
        auto ms = [](std::chrono::milliseconds time) { return time.count() < 0 ? 0 : uint64_t(time.count()); };
        size_t repeat = how.repeat == 0 ? 1 : how.repeat;
        hammock_evaluation evaluation{how.number, repeat, ms(how.min_repeat), ms(how.cooldown)};
        Timings timings{{}, std::vector<double>(repeat)};
        check(hammock_vm_time(c(), function.c(), Value::c(args), args.size(), &evaluation, &timings,
                              timings.seconds.data()));
        return timings;
    }

    /// The model's devices in order of preference, including the host.
    std::vector<hammock_device> devices() const {
        std::vector<hammock_device> found;
        Value devices = Value::made([&](hammock_any *devices) { return hammock_vm_devices(c(), devices); });
        for (const Value &device : devices.fields()) found.push_back(device.device());
        return found;
    }

    /// Memory statistics of a device, by its index among the model's devices.
    hammock_memory memory(size_t device = 0) const {
        hammock_memory memory;
        check(hammock_vm_memory(c(), device, &memory));
        return memory;
    }

    /// Returns cached memory to the devices.
    void trim() const { check(hammock_vm_trim(c())); }

    /// Sets the instrument, which replaces the previous one.
    void set_instrument(std::shared_ptr<Instrument> instrument) const {
        if (!instrument) return clear_instrument();
        using Of = detail::InstrumentOfC;
        auto held = std::make_unique<Of::Shared>(std::move(instrument));
        hammock_instrument watch{held.get(), Of::free, Of::before, Of::after, Of::enter, Of::leave};
        check(hammock_vm_watch(c(), &watch));
        held.release();
    }

    /// Sets an instrument as TVM defines it: a function that receives the callee, its name, true before the call and
    /// false after it, the result, and the arguments. If it returns 1 before the call, the call is skipped.
    void set_instrument(const Value &function) const { check(hammock_vm_set_instrument(c(), &function.c())); }

    /// Sets the profiler, which replaces the previous instrument.
    void set_profiler(const Profiler &profiler) const { check(hammock_vm_set_profiler(c(), profiler.c())); }

    /// Removes the instrument.
    void clear_instrument() const { check(hammock_vm_watch(c(), nullptr)); }

    const hammock_vm *c() const { return vm_.get(); }

private:
    Value run(const CallLimits &limits, Name function, const Value *args, size_t count) const {
        const hammock_interrupt *interrupt = limits.interrupt ? limits.interrupt->c() : nullptr;
        return Value::made([&](hammock_any *result) {
            return hammock_vm_call_with(c(), interrupt, detail::milliseconds(limits.timeout), function.c(),
                                        Value::c(args), count, result);
        });
    }

    struct Free {
        void operator()(hammock_vm *vm) const { hammock_vm_free(vm); }
    };
    std::unique_ptr<hammock_vm, Free> vm_;
};

} // namespace hammock

#endif
