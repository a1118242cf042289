// Part of hammock.hpp: what stops calls, and what sees what they do.
#ifndef HAMMOCK_WATCH_HPP
#define HAMMOCK_WATCH_HPP

#include "value.hpp"

#include <algorithm>
#include <chrono>

namespace hammock {

/// Stops the calls it is given to, from any thread.
class Interrupt {
public:
    Interrupt() {
        hammock_interrupt *interrupt;
        check(hammock_interrupt_new(&interrupt));
        interrupt_.reset(interrupt);
    }

    /// Stops the calls, now and from now on, with a CancelledError. A kernel under way runs to its end.
    void cancel() const { check(hammock_interrupt_cancel(c())); }

    bool is_cancelled() const { return hammock_interrupt_is_cancelled(c()) == 1; }

    const hammock_interrupt *c() const { return interrupt_.get(); }

private:
    struct Free {
        void operator()(hammock_interrupt *interrupt) const { hammock_interrupt_free(interrupt); }
    };
    std::unique_ptr<hammock_interrupt, Free> interrupt_;
};

/// The longest a call may take; one that has no time left may start, and is stopped at once.
using Timeout = std::optional<std::chrono::milliseconds>;

namespace detail {

/// The same for C, where zero is no limit.
inline uint64_t milliseconds(const Timeout &timeout) {
    return timeout ? static_cast<uint64_t>(std::max<int64_t>(timeout->count(), 1)) : 0;
}

} // namespace detail

/// What ends a call early.
struct CallLimits {
    const Interrupt *interrupt = nullptr;
    Timeout timeout; ///< If none, as the options of the machine say.
};

/// What a call calls.
enum class CalleeKind {
    kernel = HAMMOCK_CALLEE_KERNEL,        ///< A compiled kernel of the model.
    builtin = HAMMOCK_CALLEE_BUILTIN,      ///< A function of the runtime.
    function = HAMMOCK_CALLEE_FUNCTION,    ///< A function of the model.
    registered = HAMMOCK_CALLEE_REGISTERED ///< A function that somebody registered.
};

/// A call that one of the model's functions makes, as an instrument sees it: only while it is told of it.
class Call {
public:
    explicit Call(const hammock_event &event) : event_(event) {}

    /// The function that calls.
    std::string_view function() const { return event_.function; }
    std::string_view callee() const { return event_.callee; }
    CalleeKind kind() const { return static_cast<CalleeKind>(event_.kind); }

    /// File and line of the model's source; empty and 0 if unknown.
    std::string_view file() const { return event_.file ? event_.file : ""; }
    uint32_t line() const { return event_.line; }

    /// Number of the instruction.
    uint64_t instruction() const { return event_.instruction; }

    /// The callee: a function or closure.
    const Value &value() const { return *Value::of_c(event_.value); }

    const Value *args() const { return Value::of_c(event_.args); }
    size_t size() const { return event_.count; }

private:
    const hammock_event &event_;
};

/// Sees what a model does, on the threads that call it. What its functions throw becomes an error of the model's call.
class Instrument {
public:
    virtual ~Instrument() = default;

    /// A call is about to run. If there is a value, it does not run, and the value stands for its result.
    virtual std::optional<Value> before(const Call &) { return std::nullopt; }

    /// A call has run.
    virtual void after(const Call &, const Value & /* result */) {}

    /// A call has failed.
    virtual void failed(const Call &, const Error &) {}

    /// A function of the model begins, from wherever it is called, and is over.
    virtual void enter(std::string_view /* function */) noexcept {}
    virtual void leave(std::string_view /* function */) noexcept {}
};

namespace detail {

/// Passes what C tells on to an instrument, which the context is a share of.
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

/// Where the time of a model's calls goes, by function and kernel.
class Profiler {
public:
    /// One that keeps up to `most_events` calls one by one as well, for a trace.
    explicit Profiler(size_t most_events = 0) {
        hammock_profiler *profiler;
        check(hammock_profiler_new(most_events, &profiler));
        profiler_.reset(profiler);
    }

    std::string table() const { return render("table"); }
    std::string json() const { return render("json"); }
    std::string trace() const { return render("trace"); }      ///< For Chrome or Perfetto.
    std::string flame_graph() const { return render("flame"); } ///< SVG.

    /// What it has seen in a form by its name: table, json, trace, flame.
    std::string render(Name form) const {
        auto render = [&](hammock_any *rendered) { return hammock_profiler_render(c(), form.c(), rendered); };
        return Value::made(render).string();
    }

    /// Forgets what it has seen.
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
