// Part of hammock.hpp: interrupts and limits of calls, instruments and the profiler.
#ifndef HAMMOCK_WATCH_HPP
#define HAMMOCK_WATCH_HPP

#include "value.hpp"

#include <algorithm>
#include <chrono>

namespace hammock {

/// Interrupts calls from any thread.
class Interrupt {
public:
    Interrupt() {
        hammock_interrupt *interrupt;
        check(hammock_interrupt_new(&interrupt));
        interrupt_.reset(interrupt);
    }

    /// Interrupts the calls, present and future, with a CancelledError. A running kernel is not interrupted.
    void cancel() const { check(hammock_interrupt_cancel(c())); }

    bool is_cancelled() const { return hammock_interrupt_is_cancelled(c()) == 1; }

    const hammock_interrupt *c() const { return interrupt_.get(); }

private:
    struct Free {
        void operator()(hammock_interrupt *interrupt) const { hammock_interrupt_free(interrupt); }
    };
    std::unique_ptr<hammock_interrupt, Free> interrupt_;
};

/// Maximum duration of a call; a call whose time is up may start, and is interrupted at once.
using Timeout = std::optional<std::chrono::milliseconds>;

namespace detail {

/// The timeout for C, where zero is no limit.
inline uint64_t milliseconds(const Timeout &timeout) {
    return timeout ? static_cast<uint64_t>(std::max<int64_t>(timeout->count(), 1)) : 0;
}

} // namespace detail

/// Limits of a call.
struct CallLimits {
    const Interrupt *interrupt = nullptr;
    Timeout timeout; ///< If none, that of the virtual machine's options.
};

/// Kind of a callee.
enum class CalleeKind {
    kernel = HAMMOCK_CALLEE_KERNEL,        ///< A compiled kernel of the model.
    builtin = HAMMOCK_CALLEE_BUILTIN,      ///< A function of the runtime.
    function = HAMMOCK_CALLEE_FUNCTION,    ///< A function of the model.
    registered = HAMMOCK_CALLEE_REGISTERED ///< A registered function.
};

/// A call in one of the model's functions, as an instrument sees it; only valid during the callback.
class Call {
public:
    explicit Call(const hammock_event &event) : event_(event) {}

    /// The caller.
    std::string_view function() const { return event_.function; }
    std::string_view callee() const { return event_.callee; }
    CalleeKind kind() const { return static_cast<CalleeKind>(event_.kind); }

    /// File and line of the model's source; empty and 0 if unknown.
    std::string_view file() const { return event_.file ? event_.file : ""; }
    uint32_t line() const { return event_.line; }

    /// Index of the instruction.
    uint64_t instruction() const { return event_.instruction; }

    /// The callee: a function or closure.
    const Value &value() const { return *Value::of_c(event_.value); }

    const Value *args() const { return Value::of_c(event_.args); }
    size_t size() const { return event_.count; }

private:
    const hammock_event &event_;
};

/// Observes a model, on the threads that call it. Exceptions become errors of the model's call.
class Instrument {
public:
    virtual ~Instrument() = default;

    /// Called before a call. If it returns a value, the call is skipped and the value becomes its result.
    virtual std::optional<Value> before(const Call &) { return std::nullopt; }

    /// Called after a call.
    virtual void after(const Call &, const Value & /* result */) {}

    /// Called after a call has failed.
    virtual void failed(const Call &, const Error &) {}

    /// Called at the start and end of every activation of a function of the model.
    virtual void enter(std::string_view /* function */) noexcept {}
    virtual void leave(std::string_view /* function */) noexcept {}
};

namespace detail {

/// Forwards C callbacks to an instrument, to which the context holds a reference.
struct InstrumentOfC {
    using Shared = std::shared_ptr<Instrument>;

    static Instrument &of(void *context) { return **static_cast<Shared *>(context); }

    static int32_t before(void *context, const hammock_event *event, hammock_any *instead) {
        return callback([&] {
            std::optional<Value> value = of(context).before(Call(*event));
            if (!value) return 0;
            check(hammock_any_copy(&value->c(), instead));
            return 1;
        });
    }

    static int32_t after(void *context, const hammock_event *event, const hammock_any *result) {
        return callback([&] {
            if (result)
                of(context).after(Call(*event), *Value::of_c(result));
            else
                of(context).failed(Call(*event), Error());
            return 0;
        });
    }

    static void enter(void *context, const char *function) { of(context).enter(function); }
    static void leave(void *context, const char *function) { of(context).leave(function); }
    static void free(void *context) { delete static_cast<Shared *>(context); }
};

} // namespace detail

/// A profiler by function and kernel.
class Profiler {
public:
    /// Creates a profiler that also records up to `most_events` individual calls, for a trace.
    explicit Profiler(size_t most_events = 0) {
        hammock_profiler *profiler;
        check(hammock_profiler_new(most_events, &profiler));
        profiler_.reset(profiler);
    }

    std::string table() const { return render("table"); }
    std::string json() const { return render("json"); }
    std::string trace() const { return render("trace"); }      ///< For Chrome or Perfetto.
    std::string flame_graph() const { return render("flame"); } ///< SVG.

    /// Renders the profile in a format: table, json, trace, flame.
    std::string render(Name form) const {
        auto render = [&](hammock_any *rendered) { return hammock_profiler_render(c(), form.c(), rendered); };
        return Value::made(render).string();
    }

    /// Clears the recorded data.
    void reset() const { check(hammock_profiler_reset(c())); }

    const hammock_profiler *c() const { return profiler_.get(); }

private:
    struct Free {
        void operator()(hammock_profiler *profiler) const { hammock_profiler_free(profiler); }
    };
    std::unique_ptr<hammock_profiler, Free> profiler_;
};

} // namespace hammock

#endif
