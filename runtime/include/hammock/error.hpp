// Part of hammock.hpp: errors of the runtime as exceptions, and vice versa.
#ifndef HAMMOCK_ERROR_HPP
#define HAMMOCK_ERROR_HPP

#include "../hammock.h"

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hammock {

/// A frame of the stack trace.
struct TraceEntry {
    std::string function;
    std::string file; ///< Of the model's source; empty if unknown.
    uint32_t line;    ///< 0 if unknown.
    uint32_t column;  ///< 0 if unknown.
    std::string text; ///< Of the line.
};

/// An error of a function of the runtime, or of a callback.
class Error : public std::runtime_error {
public:
    /// The thread's last error.
    Error() : runtime_error(hammock_error_text()), kind_(hammock_error_kind()), message_(hammock_error_message()) {
        trace_.reserve(hammock_error_trace_size());
        hammock_trace_entry entry;
        for (size_t i = 0; hammock_error_trace(i, &entry) == 0; i++)
            trace_.push_back({entry.function, entry.file ? entry.file : "", entry.line, entry.column,
                              entry.text ? entry.text : ""});
    }

    Error(std::string kind, std::string message)
        : runtime_error(kind + ": " + message), kind_(std::move(kind)), message_(std::move(message)) {}

    /// ValueError, TypeError, ...
    const std::string &kind() const { return kind_; }

    /// The message; `what()` has the kind and the stack trace as well.
    const std::string &message() const { return message_; }

    /// The stack trace, innermost frame first.
    const std::vector<TraceEntry> &trace() const { return trace_; }

private:
    std::string kind_, message_;
    std::vector<TraceEntry> trace_;
};

/// Throws the thread's last error if a function of hammock.h failed.
inline void check(int status) {
    if (status != 0) throw Error();
}

namespace detail {

/// Stores the current exception as the thread's error, as the error of a callback.
inline int32_t fail_with_exception() noexcept {
    try {
        throw;
    } catch (const Error &error) {
        // If it is still the thread's error, that has the stack trace, which a new one would lack.
        if (std::string_view(hammock_error_text()) == error.what()) return -1;
        return hammock_fail(error.kind().c_str(), error.message().c_str());
    } catch (const std::bad_alloc &error) {
        return hammock_fail("MemoryError", error.what());
    } catch (const std::out_of_range &error) {
        return hammock_fail("IndexError", error.what());
    } catch (const std::invalid_argument &error) {
        return hammock_fail("ValueError", error.what());
    } catch (const std::exception &error) {
        return hammock_fail("RuntimeError", error.what());
    } catch (...) {
        return hammock_fail("RuntimeError", "a C++ function threw something that is not an exception");
    }
}

/// Runs the body of a callback. No exception crosses C: it becomes the error of the call.
template <typename Body> int32_t callback(Body &&body) noexcept {
    try {
        return body();
    } catch (...) {
        return fail_with_exception();
    }
}

} // namespace detail
} // namespace hammock

#endif
