// The runtime of compiled models, for C++17: hammock.h with values that free themselves and errors that are thrown.
//
//     hammock::Vm vm(hammock::Library::open("model.so"));
//     hammock::Value output = vm.call("main", hammock::Value::tensor<float>({1, 64}, pixels));
//     float first = output.data<float>()[0];
#ifndef HAMMOCK_HPP
#define HAMMOCK_HPP

#include "hammock.h"

#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hammock {

/// What a function of the runtime left behind when it failed. `what()` has the call stack as well.
class Error : public std::runtime_error {
public:
    Error() : runtime_error(hammock_error_text()), kind_(hammock_error_kind()), message_(hammock_error_message()) {}
    Error(std::string kind, std::string message)
        : runtime_error(kind + ": " + message), kind_(std::move(kind)), message_(std::move(message)) {}

    const std::string &kind() const { return kind_; }
    const std::string &message() const { return message_; }

private:
    std::string kind_, message_;
};

inline void check(int status) {
    if (status != 0) throw Error();
}

template <typename T> hammock_dtype dtype_of();
template <> inline hammock_dtype dtype_of<float>() { return hammock_float32(); }
template <> inline hammock_dtype dtype_of<double>() { return hammock_float64(); }
template <> inline hammock_dtype dtype_of<int8_t>() { return hammock_int8(); }
template <> inline hammock_dtype dtype_of<int32_t>() { return hammock_int32(); }
template <> inline hammock_dtype dtype_of<int64_t>() { return hammock_int64(); }
template <> inline hammock_dtype dtype_of<uint8_t>() { return hammock_uint8(); }

/// A value of any kind. Copies share what it refers to.
class Value {
public:
    Value() : any_(hammock_none()) {}
    Value(int64_t number) : any_(hammock_int(number)) {}
    Value(int number) : any_(hammock_int(number)) {}
    Value(double number) : any_(hammock_float(number)) {}
    Value(bool truth) : any_(hammock_bool(truth)) {}
    Value(std::string_view text) : Value() { check(hammock_string(text.data(), text.size(), &any_)); }
    Value(const char *text) : Value(std::string_view(text)) {}
    Value(const Value &other) : Value() { check(hammock_any_copy(&other.any_, &any_)); }
    Value(Value &&other) noexcept : any_(std::exchange(other.any_, hammock_none())) {}
    Value &operator=(Value other) noexcept {
        std::swap(any_, other.any_);
        return *this;
    }
    ~Value() { hammock_any_free(&any_); }

    /// Takes over a value that C code owns.
    static Value adopt(hammock_any any) {
        Value value;
        value.any_ = any;
        return value;
    }

    /// A claim of one's own on a value that somebody else owns.
    static Value copy(const hammock_any &any) {
        Value value;
        check(hammock_any_copy(&any, &value.any_));
        return value;
    }

    static Value shape(const std::vector<int64_t> &sizes) {
        Value value;
        check(hammock_shape(sizes.data(), sizes.size(), &value.any_));
        return value;
    }

    static Value tuple(std::initializer_list<Value> fields) {
        static_assert(sizeof(Value) == sizeof(hammock_any), "a value is nothing but the C value");
        Value value;
        check(hammock_tuple(reinterpret_cast<const hammock_any *>(fields.begin()), fields.size(), &value.any_));
        return value;
    }

    /// A tensor with a copy of the elements.
    template <typename T> static Value tensor(const std::vector<int64_t> &shape, const std::vector<T> &elements) {
        Value value;
        check(hammock_tensor_copy(dtype_of<T>(), shape.data(), shape.size(), elements.data(),
                                  elements.size() * sizeof(T), &value.any_));
        return value;
    }

    /// A tensor of zeros.
    template <typename T> static Value zeros(const std::vector<int64_t> &shape) {
        Value value;
        check(hammock_tensor_new(dtype_of<T>(), shape.data(), shape.size(), &value.any_));
        return value;
    }

    /// A tensor over memory that `owner` keeps alive; nothing is copied.
    template <typename T>
    static Value borrow(std::vector<int64_t> shape, T *elements, std::shared_ptr<const void> owner) {
        hammock_tensor memory{};
        memory.data = elements;
        memory.device = {HAMMOCK_DEVICE_CPU, 0};
        memory.ndim = static_cast<int32_t>(shape.size());
        memory.dtype = dtype_of<T>();
        memory.shape = shape.data();
        auto held = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
        auto drop = [](void *context) { delete static_cast<std::shared_ptr<const void> *>(context); };
        Value value;
        check(hammock_tensor_borrow(&memory, drop, held.get(), &value.any_));
        held.release();
        return value;
    }

    /// A function value. It may be called from any thread; what it throws becomes an error of the call.
    static Value function(std::function<Value(const Value *args, size_t count)> body) {
        using Body = decltype(body);
        auto held = std::make_unique<Body>(std::move(body));
        auto drop = [](void *context) { delete static_cast<Body *>(context); };
        Value value;
        check(hammock_function(run<Body>, held.get(), drop, &value.any_));
        held.release();
        return value;
    }

    int kind() const { return any_.type_index; }
    bool is_none() const { return any_.type_index == HAMMOCK_NONE; }

    int64_t integer() const {
        int64_t number;
        check(hammock_as_int(&any_, &number));
        return number;
    }

    double number() const {
        double number;
        check(hammock_as_float(&any_, &number));
        return number;
    }

    std::string string() const {
        const char *bytes;
        size_t size;
        check(hammock_as_string(&any_, &bytes, &size));
        return {bytes, size};
    }

    /// The sizes of a shape or of a tensor.
    std::vector<int64_t> sizes() const {
        if (any_.type_index != HAMMOCK_SHAPE) {
            hammock_tensor tensor = view();
            return {tensor.shape, tensor.shape + tensor.ndim};
        }
        const int64_t *sizes;
        size_t count;
        check(hammock_as_shape(&any_, &sizes, &count));
        return {sizes, sizes + count};
    }

    /// How many fields a tuple has.
    size_t size() const {
        const hammock_any *fields;
        size_t count;
        check(hammock_as_tuple(&any_, &fields, &count));
        return count;
    }

    /// A field of a tuple.
    Value operator[](size_t index) const {
        const hammock_any *field;
        check(hammock_tuple_field(&any_, index, &field));
        return copy(*field);
    }

    /// The description of a tensor.
    hammock_tensor view() const {
        hammock_tensor tensor;
        check(hammock_as_tensor(&any_, &tensor));
        return tensor;
    }

    /// The elements of a tensor of `T`; for those of any device and strides, ask `to_host` first.
    template <typename T> T *data() const {
        hammock_tensor tensor = view();
        hammock_dtype wanted = dtype_of<T>();
        if (tensor.dtype.code != wanted.code || tensor.dtype.bits != wanted.bits || tensor.dtype.lanes != 1)
            throw Error("TypeError", "the tensor has elements of another type");
        return reinterpret_cast<T *>(static_cast<char *>(tensor.data) + tensor.byte_offset);
    }

    /// A dense tensor on the host: this one, or a copy.
    Value to_host() const {
        Value value;
        check(hammock_tensor_to_host(&any_, &value.any_));
        return value;
    }

    /// The value as text for people.
    std::string show() const {
        Value value;
        check(hammock_any_show(&any_, &value.any_));
        return value.string();
    }

    /// Calls a function value.
    template <typename... Args> Value operator()(Args &&...args) const {
        const Value values[] = {Value(std::forward<Args>(args))..., Value()};
        Value result;
        check(hammock_call(&any_, &values[0].any_, sizeof...(Args), &result.any_));
        return result;
    }

    const hammock_any &c() const { return any_; }

private:
    template <typename Body>
    static int32_t run(void *context, const hammock_any *args, int32_t count, hammock_any *result) {
        try {
            std::vector<Value> values;
            for (int32_t i = 0; i < count; i++) values.push_back(copy(args[i]));
            Value answer = (*static_cast<Body *>(context))(values.data(), values.size());
            *result = std::exchange(answer.any_, hammock_none());
            return 0;
        } catch (const Error &error) {
            return hammock_fail(error.kind().c_str(), error.message().c_str());
        } catch (const std::exception &error) {
            return hammock_fail("RuntimeError", error.what());
        } catch (...) {
            return hammock_fail("RuntimeError", "a C++ function threw something that is no exception");
        }
    }

    hammock_any any_;
};

/// Makes a function known to models made ready from now on.
inline void register_function(const char *name, const Value &function) {
    check(hammock_register(name, &function.c()));
}

/// A compiled model.
class Library {
public:
    static Library open(const std::string &path) {
        hammock_library *library;
        check(hammock_library_open(path.c_str(), &library));
        return Library(library);
    }

    static Library load(const void *bytes, size_t size) {
        hammock_library *library;
        check(hammock_library_load(bytes, size, &library));
        return Library(library);
    }

    const hammock_library *c() const { return library_.get(); }

private:
    struct Free {
        void operator()(hammock_library *library) const { hammock_library_free(library); }
    };
    explicit Library(hammock_library *library) : library_(library) {}
    std::unique_ptr<hammock_library, Free> library_;
};

/// A model ready to run. Any thread may call it, several at a time.
class Vm {
public:
    explicit Vm(const Library &library) : Vm(library, HAMMOCK_OPTIONS) {}
    Vm(const Library &library, const hammock_options &options) {
        hammock_vm *vm;
        check(hammock_vm_new(library.c(), &options, &vm));
        vm_.reset(vm);
    }

    std::vector<std::string> functions() const {
        hammock_any names;
        check(hammock_vm_functions(c(), &names));
        return strings(Value::adopt(names));
    }

    std::vector<std::string> parameters(const char *function) const {
        hammock_any names;
        check(hammock_vm_parameters(c(), function, &names));
        return strings(Value::adopt(names));
    }

    /// Calls a function by name.
    template <typename... Args> Value call(const char *function, Args &&...args) const {
        const Value values[] = {Value(std::forward<Args>(args))..., Value()};
        hammock_any result;
        check(hammock_vm_call(c(), function, &values[0].c(), sizeof...(Args), &result));
        return Value::adopt(result);
    }

    /// A function of the model as a value, which keeps the model alive.
    Value function(const char *name) const {
        hammock_any function;
        check(hammock_vm_function(c(), name, &function));
        return Value::adopt(function);
    }

    void set_input(const char *function, const char *parameter, const Value &input) const {
        check(hammock_vm_set_input(c(), function, parameter, &input.c()));
    }

    void invoke_stateful(const char *function) const { check(hammock_vm_invoke_stateful(c(), function)); }

    /// The kept result, or the part of it that a path of positions leads to.
    Value output(const char *function, const std::vector<size_t> &path = {}) const {
        hammock_any output;
        check(hammock_vm_output(c(), function, path.data(), path.size(), &output));
        return Value::adopt(output);
    }

    hammock_memory memory(size_t device = 0) const {
        hammock_memory memory;
        check(hammock_vm_memory(c(), device, &memory));
        return memory;
    }

    const hammock_vm *c() const { return vm_.get(); }

private:
    static std::vector<std::string> strings(const Value &tuple) {
        std::vector<std::string> found;
        for (size_t i = 0; i < tuple.size(); i++) found.push_back(tuple[i].string());
        return found;
    }

    struct Free {
        void operator()(hammock_vm *vm) const { hammock_vm_free(vm); }
    };
    std::unique_ptr<hammock_vm, Free> vm_;
};

} // namespace hammock

#endif
