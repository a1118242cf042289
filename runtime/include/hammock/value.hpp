// Part of hammock.hpp: reference-counted values.
#ifndef HAMMOCK_VALUE_HPP
#define HAMMOCK_VALUE_HPP

#include "error.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

namespace hammock {

/// A name: a C string, or a std::string, which is not copied. It must be valid while the name is used.
class Name {
public:
    Name(const char *name) : name_(name) {}
    Name(const std::string &name) : name_(name.c_str()) {}

    const char *c() const { return name_; }

private:
    const char *name_;
};

/// The data type of elements of the C++ type `T`.
template <typename T> hammock_dtype dtype_of() {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "tensors have elements of numbers");
    constexpr auto code = std::is_same_v<T, bool>         ? HAMMOCK_CODE_BOOL
                          : std::is_floating_point_v<T> ? HAMMOCK_CODE_FLOAT
                          : std::is_signed_v<T>         ? HAMMOCK_CODE_INT
                                                        : HAMMOCK_CODE_UINT;
    return hammock_dtype_of(code, 8 * sizeof(T));
}

/// Parses a data type: float32, bfloat16, bool, ...
inline hammock_dtype dtype(Name name) {
    hammock_dtype dtype;
    check(hammock_dtype_parse(name.c(), &dtype));
    return dtype;
}

/// A dynamically typed value. Copies share its object.
class Value {
public:
    Value() : any_(hammock_none()) {}
    Value(const Value &other) : Value(copy(other.any_)) {}
    Value(Value &&other) noexcept : any_(std::exchange(other.any_, hammock_none())) {}
    Value &operator=(Value other) noexcept {
        std::swap(any_, other.any_);
        return *this;
    }
    ~Value() { hammock_any_free(&any_); }

    /// A number or a boolean; excludes pointers.
    template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0> Value(T number) {
        if constexpr (std::is_same_v<T, bool>)
            any_ = hammock_bool(number);
        else if constexpr (std::is_floating_point_v<T>)
            any_ = hammock_float(number);
        else
            any_ = hammock_int(static_cast<int64_t>(number));
    }

    Value(std::string_view text) : Value() { check(hammock_string(text.data(), text.size(), &any_)); }
    Value(const std::string &text) : Value(std::string_view(text)) {}
    Value(const char *text) : Value(std::string_view(text)) {}

    Value(hammock_dtype dtype) : any_(hammock_none()) {
        any_.type_index = HAMMOCK_DTYPE;
        any_.as.dtype = dtype;
    }

    Value(hammock_device device) : any_(hammock_none()) {
        any_.type_index = HAMMOCK_DEVICE;
        any_.as.device = device;
    }

    /// Takes ownership of a C value.
    static Value adopt(hammock_any any) {
        Value value;
        value.any_ = any;
        return value;
    }

    /// Copies a C value, adding a reference.
    static Value copy(const hammock_any &any) {
        return made([&](hammock_any *value) { return hammock_any_copy(&any, value); });
    }

    /// Calls a C function that writes a value and returns a status.
    template <typename Make> static Value made(Make make) {
        Value value;
        check(make(&value.any_));
        return value;
    }

    static Value shape(const std::vector<int64_t> &sizes) {
        return made([&](hammock_any *shape) { return hammock_shape(sizes.data(), sizes.size(), shape); });
    }

    static Value tuple(const std::vector<Value> &fields) {
        return made([&](hammock_any *tuple) { return hammock_tuple(c(fields), fields.size(), tuple); });
    }

    /// A tagged union value (ADT): a constructor's tag and its fields.
    static Value adt(int64_t tag, const std::vector<Value> &fields) {
        return made([&](hammock_any *adt) { return hammock_adt(tag, c(fields), fields.size(), adt); });
    }

    /// A tensor with a copy of the elements.
    template <typename T> static Value tensor(const std::vector<int64_t> &shape, const std::vector<T> &elements) {
        return tensor(dtype_of<T>(), shape, elements.data(), elements.size() * sizeof(T));
    }

    /// A tensor with a copy of `size` bytes.
    static Value tensor(hammock_dtype dtype, const std::vector<int64_t> &shape, const void *bytes, size_t size) {
        return made([&](hammock_any *tensor) {
            return hammock_tensor_copy(dtype, shape.data(), shape.size(), bytes, size, tensor);
        });
    }

    /// A tensor of zeros.
    template <typename T> static Value zeros(const std::vector<int64_t> &shape) { return zeros(dtype_of<T>(), shape); }
    static Value zeros(hammock_dtype dtype, const std::vector<int64_t> &shape) {
        return made([&](hammock_any *tensor) {
            return hammock_tensor_new(dtype, shape.data(), shape.size(), tensor);
        });
    }

    /// A tensor over contiguous host memory that `owner` keeps alive; nothing is copied.
    template <typename T>
    static Value borrow(std::vector<int64_t> shape, T *elements, std::shared_ptr<const void> owner) {
        hammock_tensor memory{};
        memory.data = elements;
        memory.device = {HAMMOCK_DEVICE_CPU, 0};
        memory.ndim = static_cast<int32_t>(shape.size());
        memory.dtype = dtype_of<T>();
        memory.shape = shape.data();
        return borrow(memory, std::move(owner));
    }

    /// A tensor over any memory that `owner` keeps alive; the descriptor is copied, the memory is not.
    static Value borrow(const hammock_tensor &memory, std::shared_ptr<const void> owner) {
        using Owner = std::shared_ptr<const void>;
        auto held = std::make_unique<Owner>(std::move(owner));
        Value value = made([&](hammock_any *tensor) {
            return hammock_tensor_borrow(&memory, drop<Owner>, held.get(), tensor);
        });
        held.release();
        return value;
    }

    /// Releases a DLPack tensor of type `Managed`.
    template <typename Managed> struct EndLoan {
        void operator()(Managed *managed) const noexcept {
            hammock_any tensor = hammock_none();
            take(managed, &tensor);
            hammock_any_free(&tensor);
        }
    };

    /// Exports a DLPack tensor. `release()` passes it to a consumer, which will call its deleter.
    using Dlpack = std::unique_ptr<DLManagedTensor, EndLoan<DLManagedTensor>>;
    using DlpackVersioned = std::unique_ptr<DLManagedTensorVersioned, EndLoan<DLManagedTensorVersioned>>;

    /// Imports a DLPack tensor; nothing is copied. `Managed` is DLManagedTensor or DLManagedTensorVersioned. If this
    /// throws, the caller still owns it.
    template <typename Managed> static Value from_dlpack(Managed *managed) {
        return made([&](hammock_any *tensor) { return take(managed, tensor); });
    }

    Dlpack to_dlpack() const {
        DLManagedTensor *managed;
        check(hammock_to_dlpack(&any_, &managed));
        return Dlpack(managed);
    }

    DlpackVersioned to_dlpack_versioned() const {
        DLManagedTensorVersioned *managed;
        check(hammock_to_dlpack_versioned(&any_, &managed));
        return DlpackVersioned(managed);
    }

    /// A function value. Any thread may call it. Exceptions become errors of the call: an Error as it is,
    /// std::invalid_argument as a ValueError, std::out_of_range as an IndexError, others as a RuntimeError.
    static Value function(std::function<Value(const Value *args, size_t count)> body) {
        using Body = decltype(body);
        auto held = std::make_unique<Body>(std::move(body));
        Value value = made([&](hammock_any *function) {
            return hammock_function(run<Body>, held.get(), drop<Body>, function);
        });
        held.release();
        return value;
    }

    /// One of HAMMOCK_NONE, HAMMOCK_INT, ...
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

    std::string bytes() const {
        const void *bytes;
        size_t size;
        check(hammock_as_bytes(&any_, &bytes, &size));
        return {static_cast<const char *>(bytes), size};
    }

    /// A tuple of strings.
    std::vector<std::string> strings() const {
        std::vector<std::string> found;
        for (const Value &text : fields()) found.push_back(text.string());
        return found;
    }

    /// The names of an object's fields; none for values without declared fields.
    std::vector<std::string> field_names() const {
        return made([&](hammock_any *names) { return hammock_fields(&any_, names); }).strings();
    }

    /// A field of an object by name.
    Value field(Name name) const {
        return made([&](hammock_any *field) { return hammock_field(&any_, name.c(), field); });
    }

    /// Returns true if both values have the same contents. Functions are only equal to themselves.
    bool operator==(const Value &other) const {
        int equal;
        check(hammock_equal(&any_, &other.any_, &equal));
        return equal == 1;
    }
    bool operator!=(const Value &other) const { return !(*this == other); }

    /// A hash that is the same for values with equal contents.
    uint64_t hash() const {
        uint64_t hash;
        check(hammock_hash(&any_, &hash));
        return hash;
    }

    /// Saves the value as a JSON graph in tvm-ffi's format.
    std::string json() const {
        return made([&](hammock_any *json) { return hammock_to_json(&any_, json); }).string();
    }

    /// Loads the value of a JSON graph.
    static Value from_json(Name json) {
        return made([&](hammock_any *loaded) { return hammock_from_json(json.c(), loaded); });
    }

    /// A device, or that of a tensor.
    hammock_device device() const {
        return any_.type_index == HAMMOCK_DEVICE ? any_.as.device : view().device;
    }

    /// A data type, or that of a tensor's elements.
    hammock_dtype dtype() const { return any_.type_index == HAMMOCK_DTYPE ? any_.as.dtype : view().dtype; }

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

    /// The tag of an ADT value.
    int64_t tag() const { return parts().tag; }

    /// Number of fields of a tuple or ADT value.
    size_t size() const { return parts().count; }

    /// The fields of a tuple or ADT value.
    std::vector<Value> fields() const {
        Parts all = parts();
        return {all.fields, all.fields + all.count};
    }

    /// A field of a tuple or ADT value.
    Value operator[](size_t index) const {
        Parts all = parts();
        if (index < all.count) return all.fields[index];
        std::string fields = std::to_string(all.count) + " fields";
        throw Error("IndexError", "of " + fields + " none is number " + std::to_string(index));
    }

    /// The descriptor of a tensor.
    hammock_tensor view() const {
        hammock_tensor tensor;
        check(hammock_as_tensor(&any_, &tensor));
        return tensor;
    }

    /// The elements of a contiguous host tensor of `T`; for others, call `to_host` first.
    template <typename T> T *data() const {
        hammock_tensor tensor = view();
        hammock_dtype wanted = dtype_of<T>();
        if (tensor.dtype.code != wanted.code || tensor.dtype.bits != wanted.bits || tensor.dtype.lanes != 1)
            throw Error("TypeError", "the tensor has elements of another type");
        return reinterpret_cast<T *>(static_cast<char *>(tensor.data) + tensor.byte_offset);
    }

    /// A copy of the elements of a tensor of `T`, on any device, with any strides.
    template <typename T> std::vector<T> elements() const {
        Value dense = to_host();
        size_t count = 1;
        for (int64_t size : dense.sizes()) count *= static_cast<size_t>(size);
        const T *first = dense.data<T>();
        return {first, first + count};
    }

    /// A contiguous tensor on the host: this one, or a copy.
    Value to_host() const {
        return made([&](hammock_any *dense) { return hammock_tensor_to_host(&any_, dense); });
    }

    /// A tensor on a device: this one, or a contiguous copy.
    Value to_device(hammock_device device) const {
        return made([&](hammock_any *tensor) { return hammock_tensor_to_device(&any_, device, tensor); });
    }

    /// Formats the value for people.
    std::string show() const {
        return made([&](hammock_any *shown) { return hammock_any_show(&any_, shown); }).string();
    }

    /// Calls a function value.
    template <typename... Args> Value operator()(Args &&...args) const {
        const Value values[] = {Value(std::forward<Args>(args))..., Value()};
        return apply(values, sizeof...(Args));
    }

    /// Calls a function value with any number of arguments.
    Value call(const std::vector<Value> &args) const { return apply(args.data(), args.size()); }

    const hammock_any &c() const { return any_; }

    /// The C representation of values.
    static const hammock_any *c(const Value *values) { return reinterpret_cast<const hammock_any *>(values); }
    static const hammock_any *c(const std::vector<Value> &values) { return c(values.data()); }

    /// Borrowed C values as values of this header; the ownership does not change.
    static const Value *of_c(const hammock_any *values) { return reinterpret_cast<const Value *>(values); }

private:
    struct Parts {
        int64_t tag;
        const Value *fields;
        size_t count;
    };

    Parts parts() const {
        int64_t tag = 0;
        const hammock_any *fields;
        size_t count;
        if (any_.type_index == HAMMOCK_ADT)
            check(hammock_as_adt(&any_, &tag, &fields, &count));
        else
            check(hammock_as_tuple(&any_, &fields, &count));
        return {tag, of_c(fields), count};
    }

    Value apply(const Value *args, size_t count) const {
        return made([&](hammock_any *result) { return hammock_call(&any_, c(args), count, result); });
    }

    template <typename Held> static void drop(void *context) { delete static_cast<Held *>(context); }

    template <typename Body>
    static int32_t run(void *context, const hammock_any *args, int32_t count, hammock_any *result) {
        return detail::callback([&] {
            Value answer = (*static_cast<Body *>(context))(of_c(args), static_cast<size_t>(count));
            *result = std::exchange(answer.any_, hammock_none());
            return 0;
        });
    }

    static int take(DLManagedTensor *managed, hammock_any *tensor) { return hammock_from_dlpack(managed, tensor); }
    static int take(DLManagedTensorVersioned *managed, hammock_any *tensor) {
        return hammock_from_dlpack_versioned(managed, tensor);
    }

    hammock_any any_;
};

static_assert(sizeof(Value) == sizeof(hammock_any) && std::is_standard_layout_v<Value>,
              "a value is nothing but the C value");

/// Registers a function for virtual machines that are created from now on. Replaces a function of the same name.
inline void register_function(Name name, const Value &function) { check(hammock_register(name.c(), &function.c())); }

inline void unregister_function(Name name) { check(hammock_unregister(name.c())); }

/// Looks up a registered function or a builtin.
inline Value registered_function(Name name) {
    return Value::made([&](hammock_any *function) { return hammock_registered(name.c(), function); });
}

/// The names of all registered functions and builtins.
inline std::vector<std::string> registered_names() { return Value::made(hammock_registered_names).strings(); }

} // namespace hammock

#endif
